// SPDX-License-Identifier: Apache-2.0
// HDF5 tables for a build without HDF5: all are refused.
#include "base/errors.hpp"
#include "gam/data/hdf5/hdf5_table.hpp"
#include "gam/data/hdf5/hdf5_writer.hpp"
#include "gam/data/source/table_reader.hpp"

namespace TESSERA_NAMESPACE::gam {

std::unique_ptr<TableReader> open_hdf5(const Workers&, const std::string& path, const Hdf5Options&) {
  throw base::input_error(
      "{}: is HDF5, which this build cannot read: convert the table to CSV, or configure with "
      "TESSERA_ENABLE_HDF5=ON",
      path);
}

bool has_hdf5() noexcept {
  return false;
}

void begin_hdf5(files::OutputFile& file) {
  throw base::input_error(
      "{}: this build cannot write HDF5: write CSV, or configure with TESSERA_ENABLE_HDF5=ON", file.path());
}

std::vector<std::int64_t> add_hdf5_columns(files::OutputFile& file, std::span<const NewColumn> /*columns*/,
                                           std::int64_t /*rows*/) {
  begin_hdf5(file);
  return {};
}

void add_hdf5_texts(files::OutputFile& file, std::span<const NewText> /*texts*/) {
  begin_hdf5(file);
}

std::string problem_of_hdf5_name(const std::string& /*name*/) {
  return {};
}

}  // namespace TESSERA_NAMESPACE::gam
