// SPDX-License-Identifier: Apache-2.0
// Tables in HDF5 for a build without HDF5: all are refused.
#include "base/errors.hpp"
#include "gam/data/hdf5/hdf5_table.hpp"
#include "gam/data/source/table_reader.hpp"

namespace TESSERA_NAMESPACE::gam {

std::unique_ptr<TableReader> open_hdf5(const Workers&, const std::string& path, const Hdf5Options&) {
  throw base::input_error(
      "{}: is HDF5, which this build cannot read: convert the table to CSV, or configure with "
      "TESSERA_ENABLE_HDF5=ON",
      path);
}

}  // namespace TESSERA_NAMESPACE::gam
