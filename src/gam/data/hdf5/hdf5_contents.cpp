// SPDX-License-Identifier: Apache-2.0
#include "gam/data/hdf5/hdf5_contents.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "base/pluralised.hpp"
#include "base/utf8.hpp"
#include "gam/data/frame/frame.hpp"

#include <tessera/function.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

std::string not_written(std::int64_t rows) {
  return fmt::format("declares {} values, but not all of them are in the file", rows);
}

/// A `problem_of_...` function returns words that follow the object's name in a message; empty: no problem.
/// The dataset must have one or two dimensions.
std::string problem_of_chunks(hid_t dataset, hid_t creation, std::size_t value_bytes, std::int64_t values) {
  std::array<hsize_t, 2> chunk{};
  std::array<hsize_t, 2> extent{};
  const Handle space(H5Dget_space(dataset), H5Sclose);
  const int dimensions = H5Sget_simple_extent_ndims(space.get());
  H5Sget_simple_extent_dims(space.get(), extent.data(), nullptr);
  std::uint64_t left = static_cast<std::uint64_t>(files::memory_left()) / value_bytes;
  hsize_t needed = 1;
  if (H5Pget_chunk(creation, dimensions, chunk.data()) != dimensions) return "has chunks without a size";
  for (int d = 0; d < dimensions; ++d) {
    const auto [size, length] = std::pair(chunk[base::at(d)], extent[base::at(d)]);
    if (size == 0) return "has chunks without a size";
    if (size > left)
      return fmt::format("has chunks of {} values of {} bytes, which do not fit into memory",
                         fmt::join(chunk.begin(), chunk.begin() + dimensions, " x "), value_bytes);
    left /= size;
    needed *= (length - 1) / size + 1;
  }
  hsize_t written = 0;
  if (H5Dget_num_chunks(dataset, space.get(), &written) < 0) return "has chunks that cannot be listed";
  return written < needed ? not_written(values) : std::string();
}

/// Only hard links are followed, because they stay in this file. Other links could lead to any file that the
/// user may read.
std::string problem_of_link(hid_t file, const std::string& name) {
  H5L_info_t info{};
  if (H5Lget_info(file, name.c_str(), &info, H5P_DEFAULT) < 0) return "is a link that cannot be read";
  switch (info.type) {
    case H5L_TYPE_HARD: return {};
    case H5L_TYPE_SOFT: return "is a symbolic link, which is not followed: copy the dataset to the root";
    default: return "is a link to another file, which is not followed: copy the dataset into this file";
  }
}

/// Checks that all values are in this file, of `file_bytes` bytes, and that a chunk fits into memory.
///
/// The extent of a dataset is only a number in its header, and HDF5 reads missing values as zeros. Its
/// storage shows whether values were written: contiguous values must lie within the file, and a chunked
/// dataset must have all chunks.
std::string problem_of_storage(hid_t dataset, hid_t type, std::int64_t values, std::int64_t file_bytes) {
  const Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  const std::size_t value_bytes = H5Tget_size(type);
  if (!creation.valid() || value_bytes == 0) return "has no readable description";
  if (value_bytes > max_text_bytes)
    return fmt::format("has values of {} bytes, more than the maximum of {}", value_bytes, max_text_bytes);
  if (H5Pget_external_count(creation.get()) != 0)
    return "stores its values in other files, which are not read: copy the values into this file";
  switch (H5Pget_layout(creation.get())) {
    case H5D_COMPACT:
      return static_cast<std::uint64_t>(values) > H5Dget_storage_size(dataset) / value_bytes
                 ? not_written(values)
                 : std::string();
    case H5D_CONTIGUOUS: {
      const haddr_t begin = H5Dget_offset(dataset);
      const auto bytes = static_cast<haddr_t>(file_bytes);
      const bool inside = begin != HADDR_UNDEF && begin <= bytes &&
                          static_cast<std::uint64_t>(values) <= (bytes - begin) / value_bytes &&
                          static_cast<std::uint64_t>(values) <= H5Dget_storage_size(dataset) / value_bytes;
      return inside ? std::string() : not_written(values);
    }
    case H5D_CHUNKED: return problem_of_chunks(dataset, creation.get(), value_bytes, values);
    default:
      return "is a virtual dataset over other files, which are not read: copy the values into this file";
  }
}

/// Whether HDF5 has opened this file, not a file that has replaced it.
bool is_open_as(hid_t hdf5, const files::InputFile& file) {
  void* handle = nullptr;
  if (H5Fget_vfd_handle(hdf5, H5P_DEFAULT, &handle) < 0 || handle == nullptr) return false;
  const auto opened = files::state_of(*static_cast<const int*>(handle));
  const files::FileState expected = file.state();
  return opened && opened->device == expected.device && opened->inode == expected.inode;
}

/// Creation order of the folder's links if the file stores it; otherwise order by name.
H5_index_t order_of_links(hid_t folder) {
  const Handle creation(H5Gget_create_plist(folder), H5Pclose);
  unsigned kept = 0;
  H5Pget_link_creation_order(creation.get(), &kept);
  return (kept & H5P_CRT_ORDER_INDEXED) != 0 ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
}

std::string name_of_link(hid_t group, H5_index_t order, hsize_t index) {
  const auto size = H5Lget_name_by_idx(group, ".", order, H5_ITER_INC, index, nullptr, 0, H5P_DEFAULT);
  std::string name(size < 0 ? 0 : static_cast<std::size_t>(size), '\0');
  H5Lget_name_by_idx(group, ".", order, H5_ITER_INC, index, name.data(), name.size() + 1, H5P_DEFAULT);
  return name;
}

constexpr const char* as_numbers_or_texts = "write it as numbers or texts";

std::string problem_of_type(hid_t type) {
  if (hdf5_kind(type) != Hdf5Kind::other) return {};
  switch (H5Tget_class(type)) {
    case H5T_COMPOUND:
      return fmt::format("has compound values: write each of its {} as a separate dataset",
                         base::pluralised(H5Tget_nmembers(type), "member"));
    case H5T_ARRAY: return "has arrays as values: write each element as a separate dataset";
    case H5T_VLEN: return "has lists of variable length as values: write one number or text per row";
    case H5T_REFERENCE: return "has references to other objects, which are not followed";
    case H5T_OPAQUE: return fmt::format("has opaque values: {}", as_numbers_or_texts);
    case H5T_BITFIELD: return "has bit fields: write them as integers";
    case H5T_ENUM: return "has an enumeration of more than 8 bytes: write it as texts";
    default: return fmt::format("has values that are neither numbers nor texts: {}", as_numbers_or_texts);
  }
}

std::string problem_of_shape(hid_t space) {
  if (H5Sget_simple_extent_type(space) == H5S_NULL) return "has no values (a null dataspace)";
  const int dimensions = H5Sget_simple_extent_ndims(space);
  if (dimensions == 1) return {};
  if (dimensions == 0) return "is one value (a scalar), not one value per row";
  if (dimensions < 0) return "has no readable description";
  std::vector<hsize_t> extents(static_cast<std::size_t>(dimensions));
  H5Sget_simple_extent_dims(space, extents.data(), nullptr);
  return fmt::format("has {} dimensions ({}): write each column as a dataset with one dimension", dimensions,
                     fmt::join(extents, " x "));
}

/// The texts of a dataset or attribute; empty if the type is not text, or if `read` fails.
std::vector<std::string> texts_in(hid_t type, hid_t space, FunctionRef<bool(void* to)> read) {
  std::vector<std::string> all;
  const Hdf5Kind kind = hdf5_kind(type);
  const auto count = static_cast<std::size_t>(std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space)));
  if (kind == Hdf5Kind::variable_text) {
    std::vector<char*> texts(count);
    if (!read(texts.data())) return all;
    for (char* const text : texts) {
      all.emplace_back(text == nullptr ? "" : text);
      H5free_memory(text);
    }
  } else if (kind == Hdf5Kind::fixed_text) {
    const std::size_t bytes = H5Tget_size(type);
    std::vector<char> texts(count * bytes);
    if (!read(texts.data())) return all;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string_view padded(texts.data() + i * bytes, bytes);
      all.emplace_back(padded.substr(0, padded.find('\0')));
    }
  }
  return all;
}

/// False for a dangling link.
bool has_object(hid_t group, const char* name) {
  return H5Lexists(group, name, H5P_DEFAULT) > 0 && H5Oexists_by_name(group, name, H5P_DEFAULT) > 0;
}

constexpr const char* write_again = "read the file by a newer anndata, and write it again";

/// Sets `rows` to the number of values, like the following functions.
std::string problem_of_dataset(hid_t file, hid_t dataset, std::int64_t& rows) {
  const Handle space(H5Dget_space(dataset), H5Sclose);
  const Handle type(H5Dget_type(dataset), H5Tclose);
  if (std::string problem = problem_of_shape(space.get()); !problem.empty()) return problem;
  if (std::string problem = problem_of_type(type.get()); !problem.empty()) return problem;
  if (H5Aexists(dataset, "categories") > 0)
    return fmt::format("stores its categories in a separate group, as anndata before 0.8 did: {}",
                       write_again);
  rows = static_cast<std::int64_t>(H5Sget_simple_extent_npoints(space.get()));
  if (rows == 0) return {};
  if (rows < 0) return "has more values than can be counted";
  hsize_t file_bytes = 0;
  H5Fget_filesize(file, &file_bytes);
  return problem_of_storage(dataset, type.get(), rows, static_cast<std::int64_t>(file_bytes));
}

Hdf5Kind kind_at(hid_t file, const std::string& path) {
  const Handle dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
  const Handle type(H5Dget_type(dataset.get()), H5Tclose);
  return hdf5_kind(type.get());
}

std::string problem_of_part(hid_t file, const std::string& path, std::int64_t& rows) {
  if (std::string problem = problem_of_link(file, path); !problem.empty()) return problem;
  const Handle object(H5Oopen(file, path.c_str(), H5P_DEFAULT), H5Oclose);
  if (H5Iget_type(object.get()) != H5I_DATASET) return "is not a dataset";
  return problem_of_dataset(file, object.get(), rows);
}

std::string problem_of_group(hid_t file, const std::string& path, std::int64_t& rows) {
  const auto parts = parts_of_column(file, path);
  if (!parts) {
    const Handle group(H5Gopen2(file, path.c_str(), H5P_DEFAULT), H5Gclose);
    const std::string encoding = hdf5_attribute(group.get(), "encoding-type");
    return encoding.empty()
               ? "is a group: copy its datasets to the root"
               : fmt::format("has the encoding '{}': write it as numbers, texts or categories", encoding);
  }
  std::int64_t others = 0;
  const auto of_part = [&](const std::string& part, std::int64_t& count) {
    std::string problem = problem_of_part(file, part, count);
    return problem.empty() ? problem : fmt::format("has a part '{}' that {}", part, problem);
  };
  if (std::string problem = of_part(parts->values, rows); !problem.empty()) return problem;
  if (!parts->categories.empty()) {
    if (std::string problem = of_part(parts->categories, others); !problem.empty()) return problem;
    if (kind_at(file, parts->values) != Hdf5Kind::number) return "has codes that are not numbers";
    if (kind_at(file, parts->categories) == Hdf5Kind::enumeration)
      return "has categories that are neither numbers nor texts: write the column as numbers or texts";
  }
  if (!parts->mask.empty()) {
    if (std::string problem = of_part(parts->mask, others); !problem.empty()) return problem;
    const Handle mask(H5Dopen2(file, parts->mask.c_str(), H5P_DEFAULT), H5Dclose);
    const Handle type(H5Dget_type(mask.get()), H5Tclose);
    if (others != rows || H5Tget_size(type.get()) != 1) return "has a mask without one byte per value";
  }
  return {};
}

std::string problem_of_object(hid_t file, const std::string& path, std::int64_t& rows) {
  const Handle object(H5Oopen(file, path.c_str(), H5P_DEFAULT), H5Oclose);
  switch (H5Iget_type(object.get())) {
    case H5I_DATASET: return problem_of_dataset(file, object.get(), rows);
    case H5I_GROUP: return problem_of_group(file, path, rows);
    case H5I_DATATYPE: return "is a type, without values";
    default: return "is an object that cannot be read";
  }
}

/// Adds the target of a link as a column or, with the reason, to `unusable`.
void add_object(Hdf5Contents& contents, hid_t file, const std::string& path, const std::string& name) {
  std::int64_t rows = 0;
  std::string problem = problem_of_link(file, contents.folder + name);
  if (problem.empty()) problem = problem_of_object(file, contents.folder + name, rows);
  if (!problem.empty()) {
    contents.unusable[name] = std::move(problem);
    return;
  }
  if (!contents.columns.empty() && rows != contents.rows)
    throw base::input_error(
        "{}: its columns have different lengths: '{}' has {} values and '{}' has {}: write columns of equal "
        "length",
        path, contents.columns[0], contents.rows, name, rows);
  contents.rows = rows;
  contents.columns.push_back(name);
  if (!base::is_utf8(name))
    throw base::input_error("{}: the name of column {} is not UTF-8: {}", path, contents.columns.size(),
                            base::how_to_utf8);
}

/// Sets the folder of AnnData's observations and the name of their index, if the file is AnnData.
void find_observations(Hdf5Contents& contents, hid_t file, const std::string& path) {
  if (!has_object(file, "obs") || !has_object(file, "var") || !problem_of_link(file, "obs").empty()) return;
  const Handle obs(H5Oopen(file, "obs", H5P_DEFAULT), H5Oclose);
  if (H5Iget_type(obs.get()) == H5I_DATASET) {
    const Handle type(H5Dget_type(obs.get()), H5Tclose);
    if (H5Tget_class(type.get()) == H5T_COMPOUND)
      throw base::input_error("{}: stores obs as one dataset, as anndata before 0.7 did: {}", path,
                              write_again);
  }
  if (H5Iget_type(obs.get()) != H5I_GROUP || H5Aexists(obs.get(), "_index") <= 0) return;
  contents.folder = "obs/";
  contents.row_names = hdf5_attribute(obs.get(), "_index");
}

/// Checks that the object is a dense matrix of numbers with `rows` rows. Sets `extents` to its shape.
std::string problem_of_matrix(hid_t file, const std::string& path, std::int64_t rows,
                              std::array<hsize_t, 2>& extents) {
  if (std::string problem = problem_of_link(file, path); !problem.empty()) return problem;
  const Handle object(H5Oopen(file, path.c_str(), H5P_DEFAULT), H5Oclose);
  if (H5Iget_type(object.get()) != H5I_DATASET) return "is not a dense matrix: write its columns to obs";
  const Handle space(H5Dget_space(object.get()), H5Sclose);
  const Handle type(H5Dget_type(object.get()), H5Tclose);
  if (hdf5_kind(type.get()) != Hdf5Kind::number || H5Sget_simple_extent_ndims(space.get()) != 2)
    return "is not a matrix of numbers: write its columns to obs";
  H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
  if (extents[0] != static_cast<hsize_t>(rows))
    return fmt::format("has {} rows, but obs has {}: write the file again", extents[0], rows);
  if (extents[1] > max_columns) return fmt::format("has more than {} columns, the maximum", max_columns);
  if (!base::is_utf8(path)) return "has a name that is not UTF-8";
  if (extents[1] == 0) return {};
  hsize_t file_bytes = 0;
  H5Fget_filesize(file, &file_bytes);
  return problem_of_storage(object.get(), type.get(), rows * static_cast<std::int64_t>(extents[1]),
                            static_cast<std::int64_t>(file_bytes));
}

/// Adds the columns of a matrix in `obsm` or, with the reason, the matrix to `unusable`. Skips names that are
/// already columns.
void add_matrix(Hdf5Contents& contents, hid_t file, const std::string& name) {
  const std::string path = "obsm/" + name;
  std::array<hsize_t, 2> extents{};
  if (std::string problem = problem_of_matrix(file, path, contents.rows, extents); !problem.empty()) {
    contents.unusable[path] = std::move(problem);
    return;
  }
  for (hsize_t j = 0; j < extents[1]; ++j) {
    std::string column = fmt::format("{}_{}", name, j + 1);
    if (std::ranges::find(contents.columns, column) != contents.columns.end()) continue;
    contents.columns.push_back(column);
    contents.of_matrices[std::move(column)] = {.values = path, .in_matrix = j};
  }
}

void for_each_link(hid_t folder, const std::string& path, FunctionRef<void(const std::string& name)> use) {
  H5G_info_t group{};
  if (H5Gget_info(folder, &group) < 0)
    throw base::input_error("{}: the root of the HDF5 file cannot be read: write the file again", path);
  if (group.nlinks > max_columns)
    throw base::input_error("{}: has more than {} columns, the maximum: split the table", path, max_columns);
  const H5_index_t order = order_of_links(folder);
  for (hsize_t i = 0; i < group.nlinks; ++i) use(name_of_link(folder, order, i));
}

}  // namespace

Hdf5Kind hdf5_kind(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
    case H5T_FLOAT: return Hdf5Kind::number;
    case H5T_STRING: return H5Tis_variable_str(type) > 0 ? Hdf5Kind::variable_text : Hdf5Kind::fixed_text;
    case H5T_ENUM:
      return H5Tget_size(type) <= sizeof(std::uint64_t) ? Hdf5Kind::enumeration : Hdf5Kind::other;
    default: return Hdf5Kind::other;
  }
}

Handle open_hdf5_file(const files::InputFile& opened) {
  const std::string& path = opened.path();
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_sec2(access.get());  // makes the VFD handle a descriptor, whatever the environment selects
#if H5_VERSION_GE(1, 10, 7)
  // Shared file systems often lack locks; a reader needs none.
  H5Pset_file_locking(access.get(), false, true);
#endif
  Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
  if (!file.valid())
    throw base::input_error(
        "{}: begins like HDF5, but HDF5 cannot open it: it is damaged, or still open for writing: write it "
        "again",
        path);
  if (!is_open_as(file.get(), opened))
    throw base::input_error("{}: was replaced while it was opened: start again when no program writes to it",
                            path);
  return file;
}

namespace {

/// The parts of a dataset, or of values with a mask. Not recursive: categories of categories could be a cycle
/// of links.
std::optional<Hdf5ColumnParts> parts_of_values(hid_t file, const std::string& path) {
  const Handle object(H5Oopen(file, path.c_str(), H5P_DEFAULT), H5Oclose);
  if (H5Iget_type(object.get()) != H5I_GROUP) return Hdf5ColumnParts{.values = path};
  if (hdf5_attribute(object.get(), "encoding-type").starts_with("nullable-") &&
      has_object(object.get(), "values") && has_object(object.get(), "mask"))
    return Hdf5ColumnParts{.values = path + "/values", .mask = path + "/mask"};
  return std::nullopt;
}

}  // namespace

std::optional<Hdf5ColumnParts> parts_of_column(hid_t file, const std::string& path) {
  const Handle object(H5Oopen(file, path.c_str(), H5P_DEFAULT), H5Oclose);
  if (H5Iget_type(object.get()) != H5I_GROUP ||
      hdf5_attribute(object.get(), "encoding-type") != "categorical" || !has_object(object.get(), "codes") ||
      !has_object(object.get(), "categories"))
    return parts_of_values(file, path);
  const auto categories = parts_of_values(file, path + "/categories");
  if (!categories) return std::nullopt;
  return Hdf5ColumnParts{.values = path + "/codes", .categories = categories->values};
}

std::vector<std::string> hdf5_attribute_texts(hid_t object, const char* name) {
  if (H5Aexists(object, name) <= 0) return {};
  const Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
  const Handle type(H5Aget_type(attribute.get()), H5Tclose);
  const Handle space(H5Aget_space(attribute.get()), H5Sclose);
  return texts_in(type.get(), space.get(),
                  [&](void* to) { return H5Aread(attribute.get(), type.get(), to) >= 0; });
}

std::string hdf5_attribute(hid_t object, const char* name) {
  const std::vector<std::string> texts = hdf5_attribute_texts(object, name);
  return texts.size() == 1 ? texts.front() : std::string();
}

std::vector<std::string> hdf5_texts(hid_t file, const std::string& path, const std::string& file_name) {
  const Handle values(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!values.valid()) return {};
  const Handle type(H5Dget_type(values.get()), H5Tclose);
  const Handle space(H5Dget_space(values.get()), H5Sclose);
  if (H5Sget_simple_extent_ndims(space.get()) != 1) return {};
  return texts_in(type.get(), space.get(), [&](void* to) {
    if (H5Dread(values.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, to) < 0)
      throw base::input_error("{}:{}: is damaged: write the file again", file_name, path);
    return true;
  });
}

Hdf5Contents contents_of(hid_t file, const std::string& path) {
  Hdf5Contents contents;
  find_observations(contents, file, path);
  const Handle folder(H5Gopen2(file, contents.folder.empty() ? "/" : contents.folder.c_str(), H5P_DEFAULT),
                      H5Gclose);
  for_each_link(folder.get(), path, [&](const std::string& name) { add_object(contents, file, path, name); });
  if (!contents.row_names.empty() && has_object(file, "obsm") && problem_of_link(file, "obsm").empty()) {
    const Handle matrices(H5Gopen2(file, "obsm", H5P_DEFAULT), H5Gclose);
    for_each_link(matrices.get(), path, [&](const std::string& name) { add_matrix(contents, file, name); });
  }
  if (contents.columns.empty() && !contents.unusable.empty()) {
    const auto& [name, problem] = *contents.unusable.begin();
    throw base::input_error("{}: no dataset of the group /{} can be read as a column; for example, '{}' {}",
                            path, contents.folder, name, problem);
  }
  if (contents.columns.empty())
    throw base::input_error("{}: the group /{} is empty: write one dataset there for each column", path,
                            contents.folder);
  if (contents.rows == 0) throw base::input_error("{}: the columns are empty: give a table with rows", path);
  return contents;
}

}  // namespace TESSERA_NAMESPACE::gam
