// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/output/table_output.hpp"

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* A writer for a folder with a file for each part and rank, `part-00000-00000.csv`, in the
/// order of the table's rows. Each rank writes its own files. The folder must be missing or empty, and
/// visible to all ranks.
[[nodiscard]] std::unique_ptr<TableOutput> make_folder_output(const mpi::Communicator& comm,
                                                              const std::string& path, OutputFormat format);

}  // namespace TESSERA_NAMESPACE::gam
