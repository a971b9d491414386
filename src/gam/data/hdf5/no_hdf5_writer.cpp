// SPDX-License-Identifier: Apache-2.0
// The HDF5 writer for a build without HDF5: it throws.
#include "base/errors.hpp"
#include "gam/data/hdf5/hdf5_writer.hpp"

namespace TESSERA_NAMESPACE::gam {

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
