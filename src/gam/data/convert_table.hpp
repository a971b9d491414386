// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/output/table_output.hpp"

#include <tessera/gam/table.hpp>
#include <tessera/job/job.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

struct Conversion {
  std::vector<std::string> columns{};  ///< requested columns; empty: all with a name
  std::size_t columns_at_once = 0;     ///< number of columns read at once; 0: as many as fit into memory
  std::function<void(std::string_view)> tell = [](std::string_view /*line*/) {};
};

/// *Collective.* Writes a table to a file or a folder: see output/table_output.hpp. A fit of the result has
/// the same bits as a fit of the table. Throws the same `Error` on every rank, as reading the table does, and
/// for data that the format cannot represent; nothing is left at `path` then.
///
/// For HDF5 all ranks read their rows of as many columns at a time as fit into memory, at least one; the
/// table is read again for the others. For other formats all columns are read at once, into scratch files if
/// they must be.
void convert_table(Job& job, const Table& table, const std::string& path, const Conversion& conversion);

/// *Collective.* Adds the columns to an HDF5 file, which is not committed, one dataset each, in their order:
/// see written_encoding.hpp.
void add_columns_to_hdf5(Job& job, const Table& table, const Conversion& conversion, TableOutput& to);

}  // namespace TESSERA_NAMESPACE::gam
