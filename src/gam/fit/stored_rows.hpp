// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/data/frame/workers.hpp"

#include <tessera/gam/terms.hpp>

#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Maximum number of rows that a model stores: plots need no more, and the file has them as text.
inline constexpr int most_stored_rows = 2000;

/// The table's columns that these variables read, each once.
[[nodiscard]] std::vector<Expression> columns_read_by(std::span<const Expression> variables);

/// *Collective.* A sample (`local_sample`) of at most `most` of the job's complete rows, in the order of the
/// table, with these variables of the frame: on rank 0; other ranks get an empty sample. The same for any
/// number of ranks and threads.
[[nodiscard]] SampledRows stored_rows(const Workers& workers, const Frame& frame,
                                      std::span<const Expression> columns, int most);

}  // namespace TESSERA_NAMESPACE::gam
