// SPDX-License-Identifier: Apache-2.0
#include "gam/data/hdf5/hdf5_columns.hpp"

#include "base/errors.hpp"
#include "gam/data/frame/frame_part.hpp"
#include "gam/data/hdf5/hdf5_chunks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

/// The library decompresses larger chunks, once for all threads: otherwise each thread would hold a chunk of
/// each column.
constexpr std::int64_t most_of_chunk = std::int64_t{1} << 18;

std::int64_t chunk_rows_of(hid_t creation) {
  hsize_t rows = 1;
  H5Pget_chunk(creation, 1, &rows);
  return static_cast<std::int64_t>(rows);
}

/// Large chunks, which the library decompresses, get a cache that all threads share.
Handle open_dataset(hid_t hdf5, const std::string& name) {
  Handle dataset(H5Dopen2(hdf5, name.c_str(), H5P_DEFAULT), H5Dclose);
  const Handle creation(H5Dget_create_plist(dataset.get()), H5Pclose);
  if (!creation.valid() || H5Pget_layout(creation.get()) != H5D_CHUNKED) return dataset;
  const std::int64_t rows = chunk_rows_of(creation.get());
  if (rows <= most_of_chunk) return dataset;
  const Handle type(H5Dget_type(dataset.get()), H5Tclose);
  const Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  H5Pset_chunk_cache(access.get(), H5D_CHUNK_CACHE_NSLOTS_DEFAULT,
                     2 * static_cast<std::size_t>(rows) * H5Tget_size(type.get()),
                     H5D_CHUNK_CACHE_W0_DEFAULT);
  dataset = {};
  return {H5Dopen2(hdf5, name.c_str(), access.get()), H5Dclose};
}

struct Scratch {
  ChunkUnpacker chunks;
  std::vector<std::byte> stored;
};

/// A dataset whose rows any thread may read. Values are read without the HDF5 library if they are contiguous
/// and stored as in memory, or if they are numbers of native types, contiguous or in chunks with supported
/// filters. The library, which is not thread-safe, reads all other values. One thread opens the columns for
/// all threads.
class Hdf5Column {
 public:
  Hdf5Column(hid_t hdf5, const files::InputFile& file, const Hdf5Contents& contents, std::string name)
      : file_(file), path_(file.path()), name_(std::move(name)) {
    const auto in_matrix = contents.of_matrices.find(name_);
    const auto parts = in_matrix == contents.of_matrices.end()
                           ? parts_of_column(hdf5, contents.folder + name_)
                           : std::optional(in_matrix->second);
    if (parts) dataset_ = open_dataset(hdf5, parts->values);
    if (!dataset_.valid()) fail();
    in_matrix_ = parts->in_matrix;
    if (!parts->mask.empty()) mask_ = Handle(H5Dopen2(hdf5, parts->mask.c_str(), H5P_DEFAULT), H5Dclose);
    if (!parts->categories.empty()) read_categories(hdf5, parts->categories);
    const Handle type(H5Dget_type(dataset_.get()), H5Tclose);
    kind_ = hdf5_kind(type.get());
    file_bytes_ = H5Tget_size(type.get());
    switch (kind_) {
      case Hdf5Kind::number: memory_type_ = Handle(H5Tcopy(H5T_NATIVE_DOUBLE), H5Tclose); break;
      case Hdf5Kind::enumeration:
        memory_type_ = Handle(H5Tget_native_type(type.get(), H5T_DIR_ASCEND), H5Tclose);
        read_members();
        break;
      default: memory_type_ = Handle(H5Tcopy(type.get()), H5Tclose); break;
    }
    if (!memory_type_.valid()) fail();
    value_bytes_ = H5Tget_size(memory_type_.get());
    if (!in_matrix_) find_values(type.get());
    space_padded_ = kind_ == Hdf5Kind::fixed_text && H5Tget_strpad(type.get()) == H5T_STR_SPACEPAD;
  }

  [[nodiscard]] std::size_t value_bytes() const noexcept { return value_bytes_; }
  /// Number of rows per chunk; 1: not chunked.
  [[nodiscard]] std::int64_t chunk_rows() const noexcept { return chunk_rows_; }

  /// The rows stay loaded until the next call. Returns their size in the file, in bytes.
  std::int64_t load(tessera::Range rows, Scratch& scratch) {
    release();
    const auto count = static_cast<std::size_t>(rows.size());
    std::span<std::byte> values;
    if (kind_ == Hdf5Kind::number) {
      numbers_.resize(count);
      values = std::as_writable_bytes(std::span(numbers_));
    } else {
      values_.assign(count * value_bytes_, std::byte{});
      values = values_;
    }
    if (!read_directly(rows, values, scratch)) read_by_library(rows, values);
    if (kind_ == Hdf5Kind::enumeration)
      find_members();
    else if (kind_ != Hdf5Kind::number)
      find_texts();
    else if (is_categorical_)
      find_categories();
    if (mask_.valid()) hide_missing(rows);
    return static_cast<std::int64_t>(count * file_bytes_);
  }

  [[nodiscard]] BatchColumn loaded(std::size_t column) const {
    return {.column = column,
            .numbers = numbers_,
            .codes = codes_,
            .levels = kind_ == Hdf5Kind::enumeration || is_categorical_ ? &members_ : nullptr,
            .texts = texts_};
  }
  /// The number of loaded rows before the first invalid value: a missing text, or a code that is neither a
  /// member of the enumeration nor a category.
  [[nodiscard]] std::size_t valid_rows() const {
    if (first_hidden_text_) return *first_hidden_text_;
    if (codes_.empty()) return std::numeric_limits<std::size_t>::max();
    return static_cast<std::size_t>(std::ranges::find(codes_, no_member) - codes_.begin());
  }
  [[noreturn]] void refuse_value(std::int64_t row_number) const {
    if (first_hidden_text_)
      throw base::input_error("{}, row {}: the text of '{}' is missing: write the column as categories",
                              path_, row_number, name_);
    if (is_categorical_)
      throw base::input_error(
          "{}, row {}: the code of '{}' is outside the list of categories: write the file again", path_,
          row_number, name_);
    throw base::input_error(
        "{}, row {}: the value of '{}' is not a member of its enumeration: write the column as texts", path_,
        row_number, name_);
  }

  Hdf5Column(const Hdf5Column&) = delete;
  Hdf5Column& operator=(const Hdf5Column&) = delete;
  ~Hdf5Column() { release(); }

 private:
  // Finds the file offset of the values, or the filters of their chunks.
  void find_values(hid_t file_type) {
    const Handle creation(H5Dget_create_plist(dataset_.get()), H5Pclose);
    const H5D_layout_t layout = H5Pget_layout(creation.get());
    if (layout == H5D_CHUNKED) chunk_rows_ = chunk_rows_of(creation.get());
    as_in_memory_ = kind_ != Hdf5Kind::variable_text && H5Tequal(file_type, memory_type_.get()) > 0;
    if (kind_ == Hdf5Kind::number && !as_in_memory_) form_ = number_form(file_type);
    if (!as_in_memory_ && !form_) return;
    if (layout == H5D_CHUNKED && chunk_rows_ <= most_of_chunk)
      packing_ = packing_of(creation.get(), file_bytes_);
    if (layout != H5D_CONTIGUOUS) return;
    const haddr_t place = H5Dget_offset(dataset_.get());
    if (place != HADDR_UNDEF) place_ = static_cast<std::int64_t>(place);
  }

  /// Reads values without the library; false for values that only the library can read.
  bool read_directly(Range rows, std::span<std::byte> values, Scratch& scratch) {
    if (place_ < 0 && !packing_) return false;
    if (!as_in_memory_) scratch.stored.resize(static_cast<std::size_t>(rows.size()) * file_bytes_);
    const std::span<std::byte> stored = as_in_memory_ ? values : std::span(scratch.stored);
    if (packing_)
      read_chunks(rows, stored, scratch.chunks);
    else
      read_in_one_piece(rows, stored);
    if (!as_in_memory_) form_->convert(stored.data(), numbers_);
    return true;
  }

  void read_in_one_piece(Range rows, std::span<std::byte> stored) const {
    const std::int64_t begin = place_ + rows.begin * static_cast<std::int64_t>(file_bytes_);
    const std::size_t got = file_.read_at(begin, {reinterpret_cast<char*>(stored.data()), stored.size()});
    if (got < stored.size()) fail();
  }

  void read_chunks(Range rows, std::span<std::byte> stored, ChunkUnpacker& unpacker) const {
    for (std::int64_t row = rows.begin; row < rows.end;) {
      const std::int64_t first = row - row % chunk_rows_;
      const std::int64_t end = std::min(rows.end, first + chunk_rows_);
      const auto at_row = static_cast<hsize_t>(first);
      const auto chunk = unpacker.unpack(dataset_.get(), *packing_, &at_row);
      if (!chunk) fail();
      const auto bytes = [&](std::int64_t count) { return static_cast<std::size_t>(count) * file_bytes_; };
      std::memcpy(stored.data() + bytes(row - rows.begin), chunk->data() + bytes(row - first),
                  bytes(end - row));
      row = end;
    }
  }

  void read_by_library(Range rows, std::span<std::byte> values) {
    const std::lock_guard lock(hdf5_mutex());
    const QuietHdf5 quiet;  // each thread has its own error stack
    const std::array begin{static_cast<hsize_t>(rows.begin), in_matrix_.value_or(0)};
    const std::array count{static_cast<hsize_t>(rows.size()), hsize_t{1}};
    const Handle file_space(H5Dget_space(dataset_.get()), H5Sclose);
    H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, begin.data(), nullptr, count.data(), nullptr);
    memory_space_ = Handle(H5Screate_simple(1, count.data(), nullptr), H5Sclose);
    if (H5Dread(dataset_.get(), memory_type_.get(), memory_space_.get(), file_space.get(), H5P_DEFAULT,
                values.data()) < 0)
      fail();
    loaded_ = true;
  }

  void read_categories(hid_t hdf5, const std::string& categories) {
    is_categorical_ = true;
    members_ = hdf5_texts(hdf5, categories, path_);
    if (!members_.empty()) return;
    const Handle dataset(H5Dopen2(hdf5, categories.c_str(), H5P_DEFAULT), H5Dclose);
    const Handle space(H5Dget_space(dataset.get()), H5Sclose);
    std::vector<double> numbers(
        static_cast<std::size_t>(std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space.get()))));
    if (H5Dread(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()) < 0) fail();
    for (const double number : numbers) members_.push_back(fmt::format("{}", number));
  }

  void find_categories() {
    codes_.resize(numbers_.size());
    for (std::size_t i = 0; i < codes_.size(); ++i) {
      const double code = numbers_[i];
      codes_[i] = code == -1                                                 ? missing_code
                  : code >= 0 && code < static_cast<double>(members_.size()) ? static_cast<std::int32_t>(code)
                                                                             : no_member;
    }
  }

  /// Makes a value missing if the mask is true.
  void hide_missing(Range rows) {
    const auto begin = static_cast<hsize_t>(rows.begin);
    const auto count = static_cast<hsize_t>(rows.size());
    std::vector<char> mask(static_cast<std::size_t>(count));
    {
      const std::lock_guard lock(hdf5_mutex());
      const QuietHdf5 quiet;
      const Handle type(H5Dget_type(mask_.get()), H5Tclose);
      const Handle space(H5Dget_space(mask_.get()), H5Sclose);
      const Handle memory(H5Screate_simple(1, &count, nullptr), H5Sclose);
      H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &begin, nullptr, &count, nullptr);
      if (H5Dread(mask_.get(), type.get(), memory.get(), space.get(), H5P_DEFAULT, mask.data()) < 0) fail();
    }
    first_hidden_text_.reset();
    for (std::size_t i = 0; i < mask.size(); ++i) {
      if (mask[i] == 0) continue;
      if (!codes_.empty())
        codes_[i] = missing_code;
      else if (kind_ == Hdf5Kind::number)
        numbers_[i] = std::numeric_limits<double>::quiet_NaN();
      else if (!first_hidden_text_)
        first_hidden_text_ = i;
    }
  }

  void read_members() {
    const int count = H5Tget_nmembers(memory_type_.get());
    for (unsigned i = 0; i < static_cast<unsigned>(std::max(count, 0)); ++i) {
      std::uint64_t value = 0;
      H5Tget_member_value(memory_type_.get(), i, &value);
      char* name = H5Tget_member_name(memory_type_.get(), i);
      place_of_.emplace(value, static_cast<std::int32_t>(i));
      members_.emplace_back(name == nullptr ? "" : name);
      H5free_memory(name);
    }
    constexpr std::uint64_t most = 1 << 16;
    for (const auto& [value, place] : place_of_) {
      if (value >= most) continue;
      small_.resize(std::max<std::size_t>(small_.size(), value + 1), no_member);
      small_[value] = place;
    }
  }

  void find_members() {
    codes_.resize(values_.size() / value_bytes_);
    for (std::size_t i = 0; i < codes_.size(); ++i) {
      std::uint64_t value = 0;
      copy_value(values_.data() + i * value_bytes_, value);
      if (value < small_.size()) {
        codes_[i] = small_[value];
      } else {
        const auto found = place_of_.find(value);
        codes_[i] = found == place_of_.end() ? no_member : found->second;
      }
    }
  }

  void find_texts() {
    texts_.resize(values_.size() / value_bytes_);
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const auto* const at = reinterpret_cast<const char*>(values_.data() + i * value_bytes_);
      if (kind_ == Hdf5Kind::variable_text) {
        const char* text = nullptr;
        std::memcpy(&text, at, sizeof text);
        texts_[i] = text == nullptr ? std::string_view{} : std::string_view(text);
        continue;
      }
      std::string_view text(at, value_bytes_);
      text = text.substr(0, text.find('\0'));
      if (space_padded_) text = text.substr(0, text.find_last_not_of(' ') + 1);
      texts_[i] = text;
    }
  }

  // Constant sizes, so that memcpy is inlined.
  void copy_value(const std::byte* from, std::uint64_t& value) const noexcept {
    switch (value_bytes_) {
      case 1: std::memcpy(&value, from, 1); break;
      case 2: std::memcpy(&value, from, 2); break;
      case 4: std::memcpy(&value, from, 4); break;
      default: std::memcpy(&value, from, value_bytes_); break;
    }
  }

  // Frees texts of variable length, which HDF5 has allocated.
  void release() noexcept {
    if (!std::exchange(loaded_, false) || kind_ != Hdf5Kind::variable_text) return;
    const std::lock_guard lock(hdf5_mutex());
#if H5_VERSION_GE(1, 12, 0)
    H5Treclaim(memory_type_.get(), memory_space_.get(), H5P_DEFAULT, values_.data());
#else
    H5Dvlen_reclaim(memory_type_.get(), memory_space_.get(), H5P_DEFAULT, values_.data());
#endif
  }

  [[noreturn]] void fail() const {
    throw base::input_error(
        "{}: the dataset '{}' cannot be read, since the file is damaged or its filter is unknown to this "
        "HDF5: write it again, plain or with gzip",
        path_, name_);
  }

  // The code of a value that is neither a member of the enumeration nor a category, and the code of a missing
  // value.
  static constexpr std::int32_t no_member = -1;
  static constexpr std::int32_t missing_code = -2;

  const files::InputFile& file_;
  const std::string& path_;
  std::string name_;
  Handle dataset_;
  Handle mask_;                       // not valid: no mask
  std::optional<hsize_t> in_matrix_;  // column of a matrix, which the library reads
  bool is_categorical_ = false;       // the values are indices in `members_`
  std::optional<std::size_t> first_hidden_text_;
  Handle memory_type_;
  Handle memory_space_;
  Hdf5Kind kind_ = Hdf5Kind::other;
  std::size_t file_bytes_ = 0;
  std::size_t value_bytes_ = 0;
  bool space_padded_ = false;
  std::int64_t place_ = -1;              // file offset if contiguous and read without the library
  std::optional<ChunkPacking> packing_;  // set if chunks are read without the library
  bool as_in_memory_ = false;            // the stored type is the type in memory
  std::optional<NumberForm> form_;       // conversion of other stored numbers
  std::int64_t chunk_rows_ = 1;
  std::vector<std::string> members_;  // names of an enumeration's members, or categories
  std::unordered_map<std::uint64_t, std::int32_t> place_of_;  // member index by value
  std::vector<std::int32_t> small_;                           // member index by small value, the usual case
  std::vector<std::int32_t> codes_;  // member indices of the loaded rows; negative: no member, or missing
  std::vector<std::string_view> texts_;
  std::vector<double> numbers_;
  std::vector<std::byte> values_;  // loaded values that are not numbers
  bool loaded_ = false;
};

class Hdf5Columns {
 public:
  Hdf5Columns(const Hdf5Rows& rows, const ReadPlan& plan) {
    for (std::size_t c = 0; c < plan.columns().size(); ++c) {
      if (!plan.columns()[c].position_among(rows.contents.columns)) continue;
      columns_.emplace_back(rows.hdf5, rows.file, rows.contents, plan.columns()[c].name);
      places_.push_back(c);
    }
  }

  [[nodiscard]] const std::deque<Hdf5Column>& all() const noexcept { return columns_; }

  /// Passes the rows to `part`. Returns their size in the file, in bytes.
  std::int64_t read(Range rows, FramePart& part) {
    std::int64_t bytes = 0;
    std::vector<BatchColumn> batch;
    std::size_t valid = static_cast<std::size_t>(rows.size());
    const Hdf5Column* first_invalid = nullptr;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      bytes += columns_[i].load(rows, scratch_);
      batch.push_back(columns_[i].loaded(places_[i]));
      if (columns_[i].valid_rows() >= valid) continue;
      valid = columns_[i].valid_rows();
      first_invalid = &columns_[i];
    }
    part.set_batch(batch, rows.begin + 1, valid);
    if (first_invalid != nullptr)
      first_invalid->refuse_value(rows.begin + static_cast<std::int64_t>(valid) + 1);
    return bytes;
  }

 private:
  std::deque<Hdf5Column> columns_;
  std::vector<std::size_t> places_;  // index in the plan of each column
  Scratch scratch_;
};

/// Number of rows read at once: about `chunk_rows`, or a larger chunk of at most `most_of_chunk` rows; fewer
/// rows if values are large.
std::int64_t rows_of_load(const std::deque<Hdf5Column>& columns, std::int64_t chunk_rows) {
  std::int64_t at_once = chunk_rows;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const Hdf5Column& column : columns) {
    if (column.chunk_rows() <= most_of_chunk) at_once = std::max(at_once, column.chunk_rows());
    most = std::min(most, static_cast<std::int64_t>(max_text_bytes / column.value_bytes()));
  }
  for (const Hdf5Column& column : columns) {
    // If columns have different chunk sizes, which is rare, some chunks are decompressed twice.
    if (column.chunk_rows() <= at_once) at_once -= at_once % column.chunk_rows();
  }
  return std::max<std::int64_t>(1, std::min(at_once, most));
}

std::vector<Range> runs_of(Range rows, std::int64_t size) {
  std::vector<Range> runs;
  for (std::int64_t begin = rows.begin; begin < rows.end; begin = runs.back().end)
    runs.push_back({begin, std::min(rows.end, begin - begin % size + size)});
  return runs;
}

class Hdf5Scan final : public RowScan {
 public:
  Hdf5Scan(const Hdf5Rows& rows, const ReadPlan& plan, int threads) : rows_(rows) {
    for (int thread = 0; thread < threads; ++thread) columns_.emplace_back(rows, plan);
  }

  [[nodiscard]] std::vector<Range> runs(Range rows) override {
    return runs_of(rows, rows_of_load(columns_[0].all(), rows_.chunk_rows));
  }
  void prepare(std::span<const Range> /*runs*/) override {
    if (rows_.between) rows_.between();
  }
  void read(int thread, Range run, FramePart& part) override {
    rows_.bytes_read += columns_[static_cast<std::size_t>(thread)].read(run, part);
  }

 private:
  Hdf5Rows rows_;
  std::deque<Hdf5Columns> columns_;  // one per thread
};

}  // namespace

std::unique_ptr<RowScan> scan_hdf5(const Hdf5Rows& rows, const ReadPlan& plan, int threads) {
  return std::make_unique<Hdf5Scan>(rows, plan, threads);
}

}  // namespace TESSERA_NAMESPACE::gam
