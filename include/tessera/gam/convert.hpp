// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/fit.hpp>
#include <tessera/gam/table.hpp>
#include <tessera/job/job.hpp>

#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* Writes a table as HDF5 with one dataset a column, in the columns' order, which is read
/// faster; docs/fit.md describes the encoding. A fit of the result has the same bits as a fit of the table,
/// but for factors in memory in an order of their own (`LevelOrder`), which HDF5 does not keep. `columns`:
/// the columns to convert; empty: all with a name. The file at `path` is replaced as a whole.
///
/// Throws the same `Error` on every rank: `input` as reading the table does, for data that HDF5 cannot
/// represent, in a build without HDF5, and for a file that cannot be written; an existing one is left
/// unchanged. Cost: all ranks read their rows of as many columns at a time as fit into memory, at least one;
/// the table is read again for the others.
TESSERA_EXPORT void convert_table(Job& job, const Table& table, const std::string& path,
                                  const std::vector<std::string>& columns = {},
                                  FitObserver* observer = nullptr);

}  // namespace TESSERA_NAMESPACE::gam
