// SPDX-License-Identifier: Apache-2.0
#include "gam/model/fitted_response.hpp"

#include "base/at.hpp"
#include "base/did_you_mean.hpp"
#include "base/errors.hpp"
#include "gam/data/hdf5/hdf5_contents.hpp"
#include "gam/data/hdf5/hdf5_table.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {

using base::at;

class StoredResults::File {
 public:
  explicit File(const std::string& path) : opened_(path) {
    if (!Hdf5Format::recognises(opened_)) refuse();
    hdf5_ = open_hdf5_file(opened_);
    if (!has(ManyDatasets::model) || !has("response")) refuse();
    const std::vector<hsize_t> size = extents(open("response").get());
    if (size.size() != 1) damaged("response");
    rows_ = size.front();
  }

  [[nodiscard]] std::string path() const { return opened_.path(); }
  [[nodiscard]] std::vector<std::string> responses() const {
    return texts("response", {0, static_cast<std::int64_t>(rows_)});
  }
  [[nodiscard]] bool has(const std::string& dataset) const {
    H5L_info_t info{};
    // Hard links only: other links could name any file that the user can read.
    return H5Lexists(hdf5_.get(), dataset.c_str(), H5P_DEFAULT) > 0 &&
           H5Lget_info(hdf5_.get(), dataset.c_str(), &info, H5P_DEFAULT) >= 0 && info.type == H5L_TYPE_HARD;
  }
  /// `width`: of a matrix; 0: a column.
  [[nodiscard]] std::vector<double> numbers(const std::string& dataset, std::size_t width, Range rows) const {
    const Handle opened = open(dataset);
    std::vector<hsize_t> expected{rows_};
    if (width > 0) expected.push_back(width);
    if (extents(opened.get()) != expected) damaged(dataset);
    std::vector<hsize_t> first(expected.size());
    first.front() = static_cast<hsize_t>(rows.begin);
    expected.front() = static_cast<hsize_t>(rows.size());
    std::vector<double> values(at(rows.size()) * std::max<std::size_t>(width, 1));
    read(dataset, opened.get(), H5T_NATIVE_DOUBLE, first, expected, values.data());
    return values;
  }
  [[nodiscard]] std::string whole_text(const char* dataset) const {
    const Handle opened = open(dataset);
    const Handle type(H5Dget_type(opened.get()), H5Tclose);
    const std::size_t bytes = H5Tget_size(type.get());
    if (hdf5_kind(type.get()) != Hdf5Kind::fixed_text || !extents(opened.get()).empty() ||
        static_cast<std::int64_t>(bytes) > opened_.size())
      damaged(dataset);
    std::string text(bytes, '\0');
    if (H5Dread(opened.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()) < 0) damaged(dataset);
    return text;
  }
  [[nodiscard]] FittedModel shared() const {
    try {
      return parse_model(whole_text(ManyDatasets::model));
    } catch (const Error& error) {
      throw base::input_error("{}: {}", opened_.path(), error.what());
    }
  }
  /// Texts of a column in `rows`. Columns with few distinct texts are stored as an enumeration.
  [[nodiscard]] std::vector<std::string> texts(const std::string& column, Range rows) const {
    const Handle dataset = open(column);
    const std::vector<hsize_t> size = extents(dataset.get());
    const Handle type(H5Dget_type(dataset.get()), H5Tclose);
    const std::size_t bytes = H5Tget_size(type.get());
    const Hdf5Kind kind = hdf5_kind(type.get());
    const bool is_enum = kind == Hdf5Kind::enumeration && bytes <= sizeof(std::int16_t);
    if (size.size() != 1 || static_cast<hsize_t>(rows.end) > size.front() ||
        (!is_enum && kind != Hdf5Kind::fixed_text) ||
        static_cast<std::int64_t>(bytes * size.front()) > opened_.size())
      damaged(column);
    std::vector<char> values(bytes * at(rows.size()));
    read(column, dataset.get(), type.get(), {static_cast<hsize_t>(rows.begin)},
         {static_cast<hsize_t>(rows.size())}, values.data());
    const std::map<std::string, std::string> members =
        is_enum ? members_of(type.get()) : std::map<std::string, std::string>();
    std::vector<std::string> found;
    for (std::size_t i = 0; i < values.size(); i += bytes) {
      const std::string_view value(values.data() + i, bytes);
      if (!is_enum) {
        found.emplace_back(value.substr(0, value.find('\0')));
      } else if (const auto member = members.find(std::string(value)); member != members.end()) {
        found.push_back(member->second);
      } else {
        damaged(column);
      }
    }
    return found;
  }

 private:
  [[noreturn]] void refuse() const {
    throw base::input_error(
        "{}: the file contains no models of responses: give the HDF5 file that tessera-fit many wrote",
        opened_.path());
  }
  [[noreturn]] void damaged(const std::string& dataset) const {
    throw base::input_error("{}: the dataset '{}' is damaged: restore the file, or fit again", opened_.path(),
                            dataset);
  }
  [[nodiscard]] Handle open(const std::string& dataset) const {
    Handle opened(has(dataset) ? H5Dopen2(hdf5_.get(), dataset.c_str(), H5P_DEFAULT) : -1, H5Dclose);
    if (!opened.valid()) damaged(dataset);
    const Handle creation(H5Dget_create_plist(opened.get()), H5Pclose);
    if (H5Pget_external_count(creation.get()) != 0) damaged(dataset);
    return opened;
  }
  [[nodiscard]] static std::vector<hsize_t> extents(hid_t dataset) {
    const Handle space(H5Dget_space(dataset), H5Sclose);
    std::vector<hsize_t> extents(at(std::max(0, H5Sget_simple_extent_ndims(space.get()))));
    H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
    return extents;
  }
  void read(const std::string& name, hid_t dataset, hid_t type, const std::vector<hsize_t>& first,
            const std::vector<hsize_t>& count, void* to) const {
    const Handle space(H5Dget_space(dataset), H5Sclose);
    const Handle memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), H5Sclose);
    if (H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, first.data(), nullptr, count.data(), nullptr) < 0 ||
        H5Dread(dataset, type, memory.get(), space.get(), H5P_DEFAULT, to) < 0)
      damaged(name);
  }
  /// The names of an enumeration by the bytes of their values. (H5Tenum_nameof sorts them for each value.)
  static std::map<std::string, std::string> members_of(hid_t type) {
    std::map<std::string, std::string> members;
    const int count = H5Tget_nmembers(type);
    for (unsigned i = 0; i < static_cast<unsigned>(std::max(count, 0)); ++i) {
      std::string value(H5Tget_size(type), '\0');
      H5Tget_member_value(type, i, value.data());
      char* const name = H5Tget_member_name(type, i);
      members.emplace(std::move(value), name == nullptr ? "" : name);
      H5free_memory(name);
    }
    return members;
  }

  files::InputFile opened_;
  Handle hdf5_;
  hsize_t rows_ = 0;
};

namespace {

class Hdf5Record final : public ResponseRecord {
 public:
  Hdf5Record(const StoredResults::File& file, std::string name) : file_(file), name_(std::move(name)) {
    const std::vector<std::string> names = file.responses();
    const auto found = std::ranges::find(names, name_);
    if (found == names.end())
      throw base::input_error("{}: the file has no response '{}'{}", file.path(), name_,
                              base::names_like(names, name_));
    const std::int64_t row = found - names.begin();
    row_ = {row, row + 1};
  }

  [[nodiscard]] std::string source() const override { return file_.path(); }
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] bool has(const std::string& dataset) const override { return file_.has(dataset); }
  [[nodiscard]] double number(const std::string& column) const override {
    return file_.numbers(column, 0, row_).front();
  }
  [[nodiscard]] std::vector<double> numbers(const std::string& dataset, std::size_t width) const override {
    return file_.numbers(dataset, width, row_);
  }
  [[nodiscard]] std::string text(const std::string& column) const override {
    return file_.texts(column, row_).front();
  }

 private:
  const StoredResults::File& file_;
  std::string name_;
  Range row_;
};

}  // namespace

FittedModel read_response(const NamedResponse& named) {
  const QuietHdf5 quiet;
  const StoredResults::File file(named.file);
  const Hdf5Record record(file, named.response);
  FittedModel model = response_model(file.shared(), record);
  model.path = named.file + ":" + named.response;
  return model;
}

StoredResults::StoredResults(const std::string& path) {
  const QuietHdf5 quiet;
  file_ = std::make_unique<File>(path);
}
StoredResults::~StoredResults() = default;
FittedModel StoredResults::shared() const {
  const QuietHdf5 quiet;
  return file_->shared();
}
std::vector<std::string> StoredResults::responses() const {
  const QuietHdf5 quiet;
  return file_->responses();
}
bool StoredResults::has(const std::string& dataset) const {
  const QuietHdf5 quiet;
  return file_->has(dataset);
}
std::vector<std::string> StoredResults::texts(const std::string& column, Range rows) const {
  const QuietHdf5 quiet;
  return file_->texts(column, rows);
}
std::vector<double> StoredResults::numbers(const std::string& dataset, std::size_t width, Range rows) const {
  const QuietHdf5 quiet;
  return file_->numbers(dataset, width, rows);
}

}  // namespace TESSERA_NAMESPACE::gam
