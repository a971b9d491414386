// SPDX-License-Identifier: Apache-2.0
#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/data/hdf5/hdf5_contents.hpp"
#include "gam/data/hdf5/hdf5_scan.hpp"
#include "gam/many/responses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {

using base::at;

namespace {

/// An HDF5 file; errors of its reads name the object that cannot be read.
class MatrixFile {
 public:
  MatrixFile(const std::string& file, std::string path)
      : opened_(file), hdf5_(open_hdf5_file(opened_)), path_(std::move(path)) {}

  [[nodiscard]] std::string name() const { return opened_.path() + ":" + path_; }
  [[nodiscard]] hid_t file() const { return hdf5_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }

  [[nodiscard]] bool has(const std::string& path) const {
    // Each part of the path must exist before the next is looked up.
    for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
      if (H5Lexists(hdf5_.get(), path.substr(0, end).c_str(), H5P_DEFAULT) <= 0) return false;
      if (end == std::string::npos) return true;
    }
  }
  [[nodiscard]] bool is_group(const std::string& path) const {
    const Handle object(H5Oopen(hdf5_.get(), path.c_str(), H5P_DEFAULT), H5Oclose);
    return object.valid() && H5Iget_type(object.get()) == H5I_GROUP;
  }
  [[nodiscard]] Handle dataset(const std::string& path) const {
    Handle opened(has(path) ? H5Dopen2(hdf5_.get(), path.c_str(), H5P_DEFAULT) : -1, H5Dclose);
    if (!opened.valid()) throw base::input_error("{}: has no dataset {}", opened_.path(), path);
    return opened;
  }
  [[nodiscard]] std::vector<hsize_t> extents(hid_t dataset) const {
    const Handle space(H5Dget_space(dataset), H5Sclose);
    const int dimensions = H5Sget_simple_extent_ndims(space.get());
    std::vector<hsize_t> extents(dimensions < 0 ? 0 : at(dimensions));
    H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
    return extents;
  }

  /// A block of a dataset, in the dataset's order.
  template <class Value>
  void read(const std::string& path, hid_t dataset, hid_t memory_type, const std::vector<hsize_t>& first,
            const std::vector<hsize_t>& count, Value* to) const {
    hsize_t values = 1;
    for (const hsize_t one : count) values *= one;
    if (values == 0) return;
    const Handle space(H5Dget_space(dataset), H5Sclose);
    H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, first.data(), nullptr, count.data(), nullptr);
    const Handle memory(H5Screate_simple(1, &values, nullptr), H5Sclose);
    if (H5Dread(dataset, memory_type, memory.get(), space.get(), H5P_DEFAULT, to) < 0)
      throw base::input_error("{}:{}: values {} to {} cannot be read: the file may be damaged",
                              opened_.path(), path, first.front() + 1, first.front() + count.front());
  }
  template <class Value>
  std::vector<Value> read_all(const std::string& path, hid_t memory_type) const {
    const Handle opened = dataset(path);
    const std::vector<hsize_t> size = extents(opened.get());
    if (size.size() != 1)
      throw base::input_error("{}:{}: has {} dimensions, but is to have one", opened_.path(), path,
                              size.size());
    std::vector<Value> values(size.front());
    read(path, opened.get(), memory_type, {0}, size, values.data());
    return values;
  }

  /// AnnData's names of variables or observations, whichever are `count`; else the numbers 1, 2, ….
  [[nodiscard]] std::vector<std::string> names(std::int64_t count) const {
    for (const char* const group : {"/var", "/obs"}) {
      if (std::vector<std::string> found = index_of(group); std::ssize(found) == count) return found;
    }
    std::vector<std::string> numbers;
    for (std::int64_t i = 1; i <= count; ++i) numbers.push_back(std::to_string(i));
    return numbers;
  }

 private:
  /// The dataset of strings that the attribute `_index` of a group names.
  [[nodiscard]] std::vector<std::string> index_of(const std::string& group) const {
    std::vector<std::string> names;
    if (!has(group) || !is_group(group)) return names;
    std::string column = "_index";
    const Handle object(H5Gopen2(hdf5_.get(), group.c_str(), H5P_DEFAULT), H5Gclose);
    if (H5Aexists(object.get(), "_index") > 0) {
      const Handle attribute(H5Aopen(object.get(), "_index", H5P_DEFAULT), H5Aclose);
      const Handle type(H5Aget_type(attribute.get()), H5Tclose);
      char* text = nullptr;
      if (H5Tis_variable_str(type.get()) > 0 && H5Aread(attribute.get(), type.get(), &text) >= 0 &&
          text != nullptr) {
        column = text;
        H5free_memory(text);
      }
    }
    const std::string path = group + "/" + column;
    if (!has(path) || is_group(path)) return names;
    const Handle values = dataset(path);
    const Handle type(H5Dget_type(values.get()), H5Tclose);
    const std::vector<hsize_t> size = extents(values.get());
    if (H5Tget_class(type.get()) != H5T_STRING || size.size() != 1) return names;
    if (H5Tis_variable_str(type.get()) > 0) {
      std::vector<char*> texts(size.front());
      read(path, values.get(), type.get(), {0}, size, texts.data());
      for (char* const text : texts) {
        names.emplace_back(text == nullptr ? "" : text);
        H5free_memory(text);
      }
      return names;
    }
    const std::size_t bytes = H5Tget_size(type.get());
    std::vector<char> texts(size.front() * bytes);
    read(path, values.get(), type.get(), {0}, size, texts.data());
    for (std::size_t i = 0; i < size.front(); ++i) {
      const std::string_view padded(texts.data() + i * bytes, bytes);
      names.emplace_back(padded.substr(0, padded.find('\0')));
    }
    return names;
  }

  files::InputFile opened_;
  Handle hdf5_;
  std::string path_;
};

/// A dataset of two dimensions.
class DenseResponses final : public ResponseSource {
 public:
  DenseResponses(std::unique_ptr<MatrixFile> file, const Responses& responses, std::int64_t rows)
      : file_(std::move(file)), dataset_(file_->dataset(file_->path())), rows_(rows) {
    const std::vector<hsize_t> size = file_->extents(dataset_.get());
    if (size.size() != 2)
      throw base::input_error("{}: has {} dimensions, but a matrix of responses has two", file_->name(),
                              size.size());
    const auto high = static_cast<std::int64_t>(size[0]);
    const auto wide = static_cast<std::int64_t>(size[1]);
    in_columns_ = responses_in_columns(file_->name(), high, wide, responses.in, rows);
    names_ = file_->names(in_columns_ ? wide : high);
  }

  [[nodiscard]] const std::vector<std::string>& names() const override { return names_; }

  [[nodiscard]] Matrix read(Range responses) override {
    const QuietHdf5 quiet;
    const auto begin = static_cast<hsize_t>(responses.begin);
    const auto count = static_cast<hsize_t>(responses.size());
    const auto rows = static_cast<hsize_t>(rows_);
    Matrix values(static_cast<int>(rows_), static_cast<int>(count));
    if (!in_columns_) {
      file_->read(file_->path(), dataset_.get(), H5T_NATIVE_DOUBLE, {begin, 0}, {count, rows}, values.data());
      return values;
    }
    // By rows of the dataset, some megabytes at a time.
    const hsize_t at_once = std::max<hsize_t>(1, (hsize_t{1} << 20) / std::max<hsize_t>(1, count));
    std::vector<double> block;
    for (hsize_t first = 0; first < rows; first += at_once) {
      const hsize_t some = std::min(at_once, rows - first);
      block.resize(some * count);
      file_->read(file_->path(), dataset_.get(), H5T_NATIVE_DOUBLE, {first, begin}, {some, count},
                  block.data());
      for (hsize_t i = 0; i < some; ++i) {
        for (hsize_t j = 0; j < count; ++j)
          values(static_cast<int>(first + i), static_cast<int>(j)) = block[i * count + j];
      }
    }
    return values;
  }

 private:
  std::unique_ptr<MatrixFile> file_;
  Handle dataset_;
  std::int64_t rows_;
  bool in_columns_ = true;
  std::vector<std::string> names_;
};

/// A compressed sparse matrix: elements are stored row by row (csr) or column by column (csc).
class SparseResponses final : public ResponseSource {
 public:
  SparseResponses(std::unique_ptr<MatrixFile> file, const Responses& responses, std::int64_t rows)
      : file_(std::move(file)), rows_(rows) {
    const std::string& path = file_->path();
    const auto [high, wide] = shape();
    const bool in_columns = responses_in_columns(file_->name(), high, wide, responses.in, rows);
    const std::int64_t count = in_columns ? wide : high;
    begins_ = file_->read_all<std::int64_t>(path + "/indptr", H5T_NATIVE_INT64);
    // `indptr` has one element more than the dimension by which the elements are stored.
    const std::string encoding = encoding_of();
    const bool by_columns =
        encoding == "csc_matrix" || (encoding != "csr_matrix" && std::ssize(begins_) == wide + 1);
    by_response_ = by_columns == in_columns;
    const std::int64_t runs = by_response_ ? count : rows;
    bool rises = std::ssize(begins_) == runs + 1 && begins_.front() == 0;
    for (std::size_t i = 1; i < begins_.size(); ++i) rises = rises && begins_[i] >= begins_[i - 1];
    elements_ = file_->extents(file_->dataset(path + "/data").get()).front();
    if (!rises || static_cast<hsize_t>(begins_.back()) != elements_ ||
        file_->extents(file_->dataset(path + "/indices").get()).front() != elements_)
      throw base::input_error(
          "{}: is no compressed sparse matrix of {} x {}: data, indices and indptr contradict each other",
          file_->name(), high, wide);
    names_ = file_->names(count);
  }

  [[nodiscard]] const std::vector<std::string>& names() const override { return names_; }
  [[nodiscard]] bool reads_all() const override { return !by_response_; }

  [[nodiscard]] Matrix read(Range responses) override {
    const QuietHdf5 quiet;
    Matrix values(static_cast<int>(rows_), static_cast<int>(responses.size()));
    const std::int64_t first = by_response_ ? responses.begin : 0;
    const std::int64_t last = by_response_ ? responses.end : rows_;
    const Handle data = file_->dataset(file_->path() + "/data");
    const Handle indices = file_->dataset(file_->path() + "/indices");
    constexpr std::int64_t at_once = 1 << 20;
    std::vector<double> numbers;
    std::vector<std::int64_t> places;
    std::int64_t run = first;
    for (std::int64_t begin = begins_[at(first)]; begin < begins_[at(last)]; begin += at_once) {
      const std::int64_t count = std::min(at_once, begins_[at(last)] - begin);
      numbers.resize(at(count));
      places.resize(at(count));
      const std::vector<hsize_t> from{static_cast<hsize_t>(begin)};
      const std::vector<hsize_t> size{static_cast<hsize_t>(count)};
      file_->read(file_->path() + "/data", data.get(), H5T_NATIVE_DOUBLE, from, size, numbers.data());
      file_->read(file_->path() + "/indices", indices.get(), H5T_NATIVE_INT64, from, size, places.data());
      for (std::int64_t i = 0; i < count; ++i) {
        while (begin + i >= begins_[at(run + 1)]) ++run;
        const std::int64_t row = by_response_ ? places[at(i)] : run;
        const std::int64_t response = by_response_ ? run : places[at(i)];
        if (places[at(i)] < 0 || row >= rows_ || response >= std::ssize(names_))
          throw base::input_error("{}: the index {} of element {} is outside of the matrix", file_->name(),
                                  places[at(i)], begin + i + 1);
        if (response >= responses.begin && response < responses.end)
          values(static_cast<int>(row), static_cast<int>(response - responses.begin)) += numbers[at(i)];
      }
    }
    return values;
  }

 private:
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> shape() const {
    const Handle group(H5Gopen2(file_->file(), file_->path().c_str(), H5P_DEFAULT), H5Gclose);
    std::vector<std::int64_t> size;
    if (H5Aexists(group.get(), "shape") > 0) {
      const Handle attribute(H5Aopen(group.get(), "shape", H5P_DEFAULT), H5Aclose);
      const Handle space(H5Aget_space(attribute.get()), H5Sclose);
      size.resize(at(std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space.get()))));
      if (H5Aread(attribute.get(), H5T_NATIVE_INT64, size.data()) < 0) size.clear();
    } else if (file_->has(file_->path() + "/shape")) {
      size = file_->read_all<std::int64_t>(file_->path() + "/shape", H5T_NATIVE_INT64);
    }
    if (size.size() != 2 || size[0] < 0 || size[1] < 0)
      throw base::input_error("{}: is a group without the shape of a sparse matrix: name a matrix",
                              file_->name());
    return {size[0], size[1]};
  }
  /// AnnData's "csr_matrix" or "csc_matrix"; empty: not stated.
  [[nodiscard]] std::string encoding_of() const {
    const Handle group(H5Gopen2(file_->file(), file_->path().c_str(), H5P_DEFAULT), H5Gclose);
    if (H5Aexists(group.get(), "encoding-type") <= 0) return {};
    const Handle attribute(H5Aopen(group.get(), "encoding-type", H5P_DEFAULT), H5Aclose);
    const Handle type(H5Aget_type(attribute.get()), H5Tclose);
    char* text = nullptr;
    if (H5Tis_variable_str(type.get()) <= 0 || H5Aread(attribute.get(), type.get(), &text) < 0 ||
        text == nullptr)
      return {};
    std::string encoding = text;
    H5free_memory(text);
    return encoding;
  }

  std::unique_ptr<MatrixFile> file_;
  std::int64_t rows_;
  bool by_response_ = true;
  std::vector<std::int64_t> begins_;
  hsize_t elements_ = 0;
  std::vector<std::string> names_;
};

}  // namespace

std::unique_ptr<ResponseSource> open_hdf5_responses(const std::string& file, const std::string& path,
                                                    const Responses& responses, std::int64_t rows) {
  const QuietHdf5 quiet;
  auto opened = std::make_unique<MatrixFile>(file, path);
  if (opened->has(path) && opened->is_group(path))
    return std::make_unique<SparseResponses>(std::move(opened), responses, rows);
  return std::make_unique<DenseResponses>(std::move(opened), responses, rows);
}

}  // namespace TESSERA_NAMESPACE::gam
