// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {

/// RAII owner of an HDF5 identifier.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Handle() = default;
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  [[nodiscard]] hid_t get() const noexcept { return id_; }
  [[nodiscard]] bool valid() const noexcept { return id_ >= 0; }
  /// The caller must close the identifier.
  [[nodiscard]] hid_t release() noexcept { return std::exchange(id_, -1); }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// RAII: HDF5 prints no error stack during the object's lifetime.
class QuietHdf5 {
 public:
  QuietHdf5() {
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~QuietHdf5() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }
  QuietHdf5(const QuietHdf5&) = delete;
  QuietHdf5& operator=(const QuietHdf5&) = delete;

 private:
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

/// Maximum bytes of a text, the same as for a row of a CSV file.
inline constexpr std::size_t max_text_bytes = std::size_t{64} << 20;

enum class Hdf5Kind { number, fixed_text, variable_text, enumeration, other };
[[nodiscard]] Hdf5Kind hdf5_kind(hid_t type);

/// The datasets of a column. A column of AnnData may be codes and categories, values and a mask, or a column
/// of a matrix.
struct Hdf5ColumnParts {
  std::string values;                        ///< path; of codes if there are categories
  std::string categories{};                  ///< path; empty: none
  std::string mask{};                        ///< path; true if a value is missing; empty: none
  std::optional<std::uint64_t> in_matrix{};  ///< column of a matrix of numbers
};
/// Nothing for a group of an unknown encoding.
[[nodiscard]] std::optional<Hdf5ColumnParts> parts_of_column(hid_t file, const std::string& path);

/// Empty if the object has no such attribute.
[[nodiscard]] std::vector<std::string> hdf5_attribute_texts(hid_t object, const char* name);
[[nodiscard]] std::string hdf5_attribute(hid_t object, const char* name);
/// The texts of a dataset of one dimension; empty: its values are not texts. Throws `Error(input)`, which
/// names the file by `file_name`.
[[nodiscard]] std::vector<std::string> hdf5_texts(hid_t file, const std::string& path,
                                                  const std::string& file_name);

/// The columns of a file: those of AnnData's observations (`obs`), then those of the matrices in `obsm`, as
/// X_umap_1, X_umap_2, …; or else the datasets of the root.
struct Hdf5Contents {
  std::string folder;     ///< where the columns are: "obs/", or "" for the root
  std::string row_names;  ///< the column of AnnData's names of observations; empty: none
  std::vector<std::string> columns;
  std::map<std::string, Hdf5ColumnParts> of_matrices;  ///< the columns in `obsm`, by name
  std::map<std::string, std::string> unusable;  ///< other links, with the reason why they are not columns
  std::int64_t rows = 0;
};

/// Opens by HDF5 a file that is already open. Throws `Error(input)` if HDF5 cannot open the file, or if
/// another file has replaced it.
[[nodiscard]] Handle open_hdf5_file(const files::InputFile& opened);

/// Throws `Error(input)`: no column, columns of different lengths or without rows, a name not in UTF-8.
[[nodiscard]] Hdf5Contents contents_of(hid_t file, const std::string& path);

}  // namespace TESSERA_NAMESPACE::gam
