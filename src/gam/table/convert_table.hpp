// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/table_options.hpp>
#include <tessera/job/job.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "files/output_file.hpp"

namespace TESSERA_NAMESPACE::gam {

struct Conversion {
  std::string from;                    ///< a table in any format
  TableOptions options;                ///< how it is read
  std::vector<std::string> columns{};  ///< of it that are wanted; none: all that have a name
  std::size_t columns_at_once = 0;     ///< that are read; 0: as many as there is memory for
  std::function<void(std::string_view)> tell = [](std::string_view /*line*/) {};
};

/// *Collective.* Writes a table as HDF5 with one dataset a column, in the columns' order: see
/// column_encoding.hpp. A fit of that has the bits that a fit of the table has. `to` is what rank 0 writes
/// and commits; null elsewhere. Throws the same `Error` on every rank, as reading the table does, and for
/// what HDF5 cannot hold; `to` is not committed then.
///
/// All ranks read, each its rows of as many columns at a time as there is memory for, at least one; the table
/// is read again for others.
void convert_to_hdf5(Job& job, const Conversion& conversion, files::OutputFile* to);

/// *Collective.* The same, but into a file that `begin_hdf5` has made, and that is not committed.
void add_columns_to_hdf5(Job& job, const Conversion& conversion, files::OutputFile* to);

}  // namespace TESSERA_NAMESPACE::gam
