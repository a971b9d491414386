// SPDX-License-Identifier: Apache-2.0
#include "hdf5_files.hpp"

#include "gam/table/hdf5/hdf5_storage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <tessera/error.hpp>
#include <vector>

namespace tessera::bench {
namespace {

using gam::Handle;

constexpr hsize_t rows_of_chunk = hsize_t{1} << 16;
constexpr unsigned chunk_compression_level = 1;

Handle open_file(const std::filesystem::path& path) {
  Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!file.valid()) throw Error(ErrorCode::input, fmt::format("'{}' cannot be read", path.string()));
  return file;
}

/// A column whose values were read.
struct Hdf5Column {
  std::string name;
  Handle type;  ///< in memory
  std::vector<std::byte> values;
  hsize_t rows = 0;
};

Hdf5Column read_column(hid_t file, hsize_t index, const std::filesystem::path& path) {
  Hdf5Column column;
  const auto size = H5Lget_name_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_INC, index, nullptr, 0, H5P_DEFAULT);
  column.name.resize(static_cast<std::size_t>(size));
  H5Lget_name_by_idx(file, ".", H5_INDEX_NAME, H5_ITER_INC, index, column.name.data(), column.name.size() + 1,
                     H5P_DEFAULT);
  const Handle dataset(H5Dopen2(file, column.name.c_str(), H5P_DEFAULT), H5Dclose);
  const Handle space(H5Dget_space(dataset.get()), H5Sclose);
  const Handle type(H5Dget_type(dataset.get()), H5Tclose);
  column.rows = static_cast<hsize_t>(H5Sget_simple_extent_npoints(space.get()));
  column.type = Handle(H5Tget_native_type(type.get(), H5T_DIR_ASCEND), H5Tclose);
  column.values.resize(column.rows * H5Tget_size(column.type.get()));
  if (H5Dread(dataset.get(), column.type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, column.values.data()) < 0)
    throw Error(ErrorCode::input, fmt::format("'{}': '{}' cannot be read", path.string(), column.name));
  return column;
}

std::vector<Hdf5Column> read_columns(const std::filesystem::path& path) {
  const Handle file = open_file(path);
  H5G_info_t root{};
  H5Gget_info(file.get(), &root);
  std::vector<Hdf5Column> columns;
  for (hsize_t i = 0; i < root.nlinks; ++i) columns.push_back(read_column(file.get(), i, path));
  return columns;
}

void write_column(hid_t file, const Hdf5Column& column, const std::filesystem::path& path) {
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  const hsize_t chunk = std::min(column.rows, rows_of_chunk);
  H5Pset_chunk(creation.get(), 1, &chunk);
  H5Pset_shuffle(creation.get());
  H5Pset_deflate(creation.get(), chunk_compression_level);
  const Handle space(H5Screate_simple(1, &column.rows, nullptr), H5Sclose);
  const Handle dataset(H5Dcreate2(file, column.name.c_str(), column.type.get(), space.get(), H5P_DEFAULT,
                                  creation.get(), H5P_DEFAULT),
                       H5Dclose);
  if (H5Dwrite(dataset.get(), column.type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, column.values.data()) < 0)
    throw Error(ErrorCode::input,
                fmt::format("'{}' cannot be written: set TMPDIR to a place with room", path.string()));
}

}  // namespace

void write_hdf5_chunks(const std::filesystem::path& from, const std::filesystem::path& to) {
  const Handle file(H5Fcreate(to.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  for (const Hdf5Column& column : read_columns(from)) write_column(file.get(), column, to);
}

void read_by_hdf5(const std::filesystem::path& path) {
  static_cast<void>(read_columns(path));
}

std::string version_of_hdf5() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format("{}.{}.{}", major, minor, release);
}

}  // namespace tessera::bench
