// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/output/table_output.hpp"

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* A writer for a Parquet or Feather file: numbers are float64; levels are texts, in a
/// dictionary if they are the same in all parts; missing values are nulls. Throws the same `Error(input)` on
/// every rank without the plugin.
[[nodiscard]] std::unique_ptr<TableOutput> make_arrow_output(const mpi::Communicator& comm,
                                                             const std::string& path, OutputFormat format);
[[nodiscard]] bool has_arrow_output();

}  // namespace TESSERA_NAMESPACE::gam
