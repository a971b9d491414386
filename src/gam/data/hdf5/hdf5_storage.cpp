// SPDX-License-Identifier: Apache-2.0
#include "gam/data/hdf5/hdf5_storage.hpp"

#include <fmt/format.h>

#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

std::string not_written(std::int64_t rows) {
  return fmt::format("has {} values by its header, which are not all in the file", rows);
}

std::string problem_of_chunks(hid_t dataset, hid_t creation, std::size_t value_bytes, std::int64_t rows) {
  hsize_t chunk = 0;
  if (H5Pget_chunk(creation, 1, &chunk) != 1 || chunk == 0) return "has chunks without a size";
  const auto left = static_cast<std::uint64_t>(files::memory_left());
  if (chunk > left / value_bytes)
    return fmt::format("has chunks of {} values of {} bytes, which do not fit into memory", chunk,
                       value_bytes);
  hsize_t written = 0;
  const Handle space(H5Dget_space(dataset), H5Sclose);
  if (H5Dget_num_chunks(dataset, space.get(), &written) < 0) return "has chunks that cannot be listed";
  const auto needed = (static_cast<hsize_t>(rows) - 1) / chunk + 1;
  return written < needed ? not_written(rows) : std::string();
}

}  // namespace

std::string problem_of_link(hid_t file, const std::string& name) {
  H5L_info_t info{};
  if (H5Lget_info(file, name.c_str(), &info, H5P_DEFAULT) < 0) return "is a link that cannot be read";
  switch (info.type) {
    case H5L_TYPE_HARD: return {};
    case H5L_TYPE_SOFT: return "is a symbolic link, which is not followed: copy the dataset to the root";
    default: return "is a link to another file, which is not followed: copy the dataset to this one";
  }
}

std::string problem_of_storage(hid_t dataset, hid_t type, std::int64_t rows, std::int64_t file_bytes) {
  const Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  const std::size_t value_bytes = H5Tget_size(type);
  if (!creation.valid() || value_bytes == 0) return "has no readable description";
  if (value_bytes > max_text_bytes)
    return fmt::format("has values of {} bytes, more than the {} that one may have", value_bytes,
                       max_text_bytes);
  if (H5Pget_external_count(creation.get()) != 0)
    return "keeps its values in other files, which are not read: copy them to this one";
  switch (H5Pget_layout(creation.get())) {
    case H5D_COMPACT:
      return static_cast<std::uint64_t>(rows) > H5Dget_storage_size(dataset) / value_bytes ? not_written(rows)
                                                                                           : std::string();
    case H5D_CONTIGUOUS: {
      const haddr_t begin = H5Dget_offset(dataset);
      const auto bytes = static_cast<haddr_t>(file_bytes);
      const bool inside = begin != HADDR_UNDEF && begin <= bytes &&
                          static_cast<std::uint64_t>(rows) <= (bytes - begin) / value_bytes &&
                          static_cast<std::uint64_t>(rows) <= H5Dget_storage_size(dataset) / value_bytes;
      return inside ? std::string() : not_written(rows);
    }
    case H5D_CHUNKED: return problem_of_chunks(dataset, creation.get(), value_bytes, rows);
    default: return "is made of parts of other files, which are not read: copy them to this one";
  }
}

}  // namespace TESSERA_NAMESPACE::gam
