// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/table.hpp>
#include <tessera/job/job.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "files/output_file.hpp"

namespace TESSERA_NAMESPACE::gam {

struct Conversion {
  std::vector<std::string> columns{};  ///< requested columns; empty: all with a name
  std::size_t columns_at_once = 0;     ///< number of columns read at once; 0: as many as fit into memory
  std::function<void(std::string_view)> tell = [](std::string_view /*line*/) {};
};

/// *Collective.* Writes a table as HDF5 with one dataset a column, in the columns' order: see
/// written_encoding.hpp. A fit of the result has the same bits as a fit of the table. `to` is the output of
/// rank 0, which it commits; null elsewhere. Throws the same `Error` on every rank, as reading the table
/// does, and for data that HDF5 cannot represent; `to` is not committed then.
///
/// All ranks read their rows of as many columns at a time as fit into memory, at least one; the table is read
/// again for the others.
void convert_to_hdf5(Job& job, const Table& table, const Conversion& conversion, files::OutputFile* to);

/// *Collective.* `convert_to_hdf5` into a file made by `begin_hdf5`, which it does not commit.
void add_columns_to_hdf5(Job& job, const Table& table, const Conversion& conversion, files::OutputFile* to);

}  // namespace TESSERA_NAMESPACE::gam
