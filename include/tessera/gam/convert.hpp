// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/fit.hpp>
#include <tessera/gam/table.hpp>
#include <tessera/job/job.hpp>

#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* Writes a table as HDF5 with one dataset a column, in the columns' order, which is read
/// faster; docs/fit.md has the encoding. A fit of that has the bits that a fit of the table has. `columns`:
/// of the table that are wanted; none: all that have a name. The file at `path` is replaced as a whole.
///
/// Throws the same `Error` on every rank: `input` as reading the table does, for what HDF5 cannot hold, in a
/// build without HDF5, and for a file that cannot be written; an existing one is left unchanged. Cost: all
/// ranks read, each its rows of as many columns at a time as there is memory for, at least one; the table is
/// read again for others.
TESSERA_EXPORT void convert_table(Job& job, const TableFile& table, const std::string& path,
                                  const std::vector<std::string>& columns = {},
                                  FitObserver* observer = nullptr);

}  // namespace TESSERA_NAMESPACE::gam
