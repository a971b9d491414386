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

/// *Collective.* Writes a table to a file or folder: see output/table_output.hpp. A fit of the written table
/// has the same bits as a fit of the original. Throws the same `Error` on every rank, like reading the table,
/// and for data that the format cannot represent; then no file is left at `path`.
///
/// For HDF5 each rank reads its rows of as many columns as fit into memory, and the table is read again for
/// further columns. For other formats all columns are read at once, into scratch files if necessary.
void convert_table(Job& job, const Table& table, const std::string& path, const Conversion& conversion);

/// *Collective.* Adds the columns, in order, to an HDF5 file that is not committed yet, each as a dataset:
/// see written_encoding.hpp.
void add_columns_to_hdf5(Job& job, const Table& table, const Conversion& conversion, TableOutput& to);

}  // namespace TESSERA_NAMESPACE::gam
