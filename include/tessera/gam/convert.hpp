// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/fit.hpp>
#include <tessera/gam/table.hpp>
#include <tessera/job/job.hpp>

#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* Writes a table in the format of the path's ending: .parquet, .feather (.arrow), .h5 (.hdf5)
/// or .csv. For other endings, writes Parquet if this build can, else HDF5 with one dataset per column.
/// docs/fit.md describes the encodings. Columns keep their order. A fit of the result has the same bits as a
/// fit of the table, except that factors in memory lose an order other than `LevelOrder::sorted`. `columns`:
/// names of the columns to convert; empty: all columns with a name. A file at `path` is replaced as a whole.
/// A path that ends in '/' is a new folder with a file for each rank.
///
/// Throws the same `Error` on every rank, and leaves an existing file unchanged: the errors of reading the
/// table (`Table`), and `input` for data that the format cannot represent, for a format that this build
/// cannot write, and for a file that cannot be written. Cost: HDF5 is written in groups of as many columns as
/// fit into memory, at least one, and each group reads the table once. Other formats read the table once,
/// into scratch files if memory is short.
TESSERA_EXPORT void convert_table(Job& job, const Table& table, const std::string& path,
                                  const std::vector<std::string>& columns = {},
                                  FitObserver* observer = nullptr);

}  // namespace TESSERA_NAMESPACE::gam
