// SPDX-License-Identifier: Apache-2.0
#include "gam/model/fitted_response.hpp"

#include "base/at.hpp"
#include "base/did_you_mean.hpp"
#include "base/errors.hpp"
#include "gam/data/hdf5/hdf5_contents.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// The row of a response in the datasets of a file of results.
class Hdf5Record final : public ResponseRecord {
 public:
  explicit Hdf5Record(const NamedResponse& named)
      : opened_(named.file), hdf5_(open_hdf5_file(opened_)), name_(named.response) {
    if (!has(ManyDatasets::model) || !has("response"))
      throw base::input_error(
          "{}: has no models of responses: take the HDF5 file that tessera-fit many has written", named.file);
    const std::vector<hsize_t> size = extents(open("response").get());
    if (size.size() != 1) damaged("response");
    rows_ = size.front();
    const std::vector<std::string> names = texts("response", {0, static_cast<std::int64_t>(rows_)});
    const auto found = std::ranges::find(names, name_);
    if (found == names.end())
      throw base::input_error("{}: has no response '{}'{}", named.file, name_,
                              base::names_like(names, name_));
    row_ = found - names.begin();
  }

  [[nodiscard]] std::string source() const override { return opened_.path(); }
  [[nodiscard]] std::string name() const override { return name_; }

  [[nodiscard]] bool has(const std::string& dataset) const override {
    H5L_info_t info{};
    // Hard links only: other links could open any file that the user may read.
    return H5Lexists(hdf5_.get(), dataset.c_str(), H5P_DEFAULT) > 0 &&
           H5Lget_info(hdf5_.get(), dataset.c_str(), &info, H5P_DEFAULT) >= 0 && info.type == H5L_TYPE_HARD;
  }
  [[nodiscard]] double number(const std::string& column) const override { return numbers(column, 0).front(); }
  /// `width` 0: the number in a column.
  [[nodiscard]] std::vector<double> numbers(const std::string& dataset, std::size_t width) const override {
    const Handle opened = open(dataset);
    std::vector<hsize_t> expected{rows_};
    if (width > 0) expected.push_back(width);
    if (extents(opened.get()) != expected) damaged(dataset);
    std::vector<hsize_t> first(expected.size());
    first.front() = static_cast<hsize_t>(row_);
    expected.front() = 1;
    std::vector<double> values(std::max<std::size_t>(width, 1));
    read(dataset, opened.get(), H5T_NATIVE_DOUBLE, first, expected, values.data());
    return values;
  }
  [[nodiscard]] std::string text(const std::string& column) const override {
    return texts(column, {row_, row_ + 1}).front();
  }
  /// A text that belongs to the whole file, not to a response.
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

 private:
  [[noreturn]] void damaged(const std::string& dataset) const {
    throw base::input_error("{}: is damaged in the dataset '{}': restore the file, or fit again",
                            opened_.path(), dataset);
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
  /// Some rows of a column of texts. If there are only a few different texts, they are stored as an
  /// enumeration.
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
    std::vector<std::string> found;
    for (std::size_t i = 0; i < values.size(); i += bytes) {
      std::array<char, max_member_bytes> member{};
      if (!is_enum) {
        const std::string_view padded(values.data() + i, bytes);
        found.emplace_back(padded.substr(0, padded.find('\0')));
      } else if (H5Tenum_nameof(type.get(), values.data() + i, member.data(), member.size()) >= 0) {
        found.emplace_back(member.data());
      } else {
        damaged(column);
      }
    }
    return found;
  }

  /// Maximum size of a member's name, since HDF5 describes an enumeration in 64 KiB.
  static constexpr std::size_t max_member_bytes = std::size_t{1} << 16;

  files::InputFile opened_;
  Handle hdf5_;
  std::string name_;
  hsize_t rows_ = 0;
  std::int64_t row_ = 0;
};

}  // namespace

FittedModel read_response(const NamedResponse& named) {
  const QuietHdf5 quiet;
  const Hdf5Record record(named);
  const FittedModel shared = [&] {
    try {
      return parse_model(record.whole_text(ManyDatasets::model));
    } catch (const Error& error) {
      throw base::input_error("{}: {}", named.file, error.what());
    }
  }();
  FittedModel model = response_model(shared, record);
  model.path = named.file + ":" + named.response;
  return model;
}

}  // namespace TESSERA_NAMESPACE::gam
