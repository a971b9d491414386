// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/data/frame/workers.hpp"

#include <tessera/gam/terms.hpp>

#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Maximum number of rows that a model stores: plots need no more, and the model's file stores rows as text.
inline constexpr int most_stored_rows = 2000;

[[nodiscard]] std::vector<Expression> columns_read_by(std::span<const Expression> variables);

/// *Collective.* A sample (`local_sample`) of at most `most` complete rows, in the order of the table, with
/// `columns`. Complete on rank 0, else empty; the same for any number of ranks and threads.
[[nodiscard]] SampledRows stored_rows(const Workers& workers, const Frame& frame,
                                      std::span<const Expression> columns, int most);

}  // namespace TESSERA_NAMESPACE::gam
