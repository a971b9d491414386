// SPDX-License-Identifier: Apache-2.0
#include "gam/data/matrix/hdf5_matrix.hpp"

#include "base/errors.hpp"
#include "gam/data/hdf5/hdf5_chunks.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Throws for a dataset with a filter that neither this reader nor the library has.
void refuse_filters(hid_t creation, const std::string& name) {
  for (unsigned i = 0; i < static_cast<unsigned>(std::max(0, H5Pget_nfilters(creation))); ++i) {
    unsigned flags = 0;
    std::size_t parameters = 0;
    std::array<char, 64> words{};
    const H5Z_filter_t filter =
        H5Pget_filter2(creation, i, &flags, &parameters, nullptr, words.size() - 1, words.data(), nullptr);
    if (H5Zfilter_avail(filter) > 0) continue;
    throw base::input_error(
        "{}: is compressed by filter {} ({}), which this HDF5 lacks: write the file with gzip (AnnData: "
        "write_h5ad(compression=\"gzip\")), or run h5repack -f GZIP=1 IN OUT with an HDF5 that has this "
        "filter",
        name, filter, words.front() == '\0' ? "without a name" : words.data());
  }
}

class Hdf5Matrix final : public StoredMatrix {
 public:
  Hdf5Matrix(std::shared_ptr<const Hdf5File> file, const std::string& path, Handle dataset, int dimensions)
      : file_(std::move(file)),
        name_(file_->opened->path() + ":" + path),
        dataset_(std::move(dataset)),
        dimensions_(dimensions) {
    const Handle type(H5Dget_type(dataset_.get()), H5Tclose);
    if (hdf5_kind(type.get()) != Hdf5Kind::number)
      throw base::input_error("{}: its values are not numbers: name a dataset of numbers", name_);
    const Handle space(H5Dget_space(dataset_.get()), H5Sclose);
    if (const int found = H5Sget_simple_extent_ndims(space.get()); found != dimensions)
      throw base::input_error("{}: has {} dimensions, but {}", name_, found,
                              dimensions == 2 ? "a matrix of responses has two: name another dataset"
                                              : "needs one: write the matrix again");
    std::array<hsize_t, 2> extents{1, 1};
    H5Sget_simple_extent_dims(space.get(), extents.data() + (2 - dimensions_), nullptr);
    rows_ = static_cast<std::int64_t>(extents[0]);
    columns_ = static_cast<std::int64_t>(extents[1]);
    form_ = number_form(type.get());
    find_chunks();
  }

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::int64_t rows() const override { return rows_; }
  [[nodiscard]] std::int64_t columns() const override { return columns_; }
  [[nodiscard]] Piece chunk() const override { return chunk_; }
  [[nodiscard]] bool is_exact_in_float() const override { return form_ && form_->is_exact_in_float; }

  [[nodiscard]] const std::optional<NumberForm>& form() const noexcept { return form_; }
  /// File offset of contiguous values; negative: the values are not contiguous.
  [[nodiscard]] std::int64_t offset() const {
    const Handle creation(H5Dget_create_plist(dataset_.get()), H5Pclose);
    const haddr_t place = H5Dget_offset(dataset_.get());
    return H5Pget_layout(creation.get()) == H5D_CONTIGUOUS && H5Pget_external_count(creation.get()) == 0 &&
                   place != HADDR_UNDEF
               ? static_cast<std::int64_t>(place)
               : -1;
  }

 private:
  class ChunkReader final : public Reader {
   public:
    explicit ChunkReader(const Hdf5Matrix& matrix) : matrix_(matrix) {}
    /// Reads a block chunk by chunk; a piece may have several chunks, one below the other.
    void read(const MatrixBlock& block, std::span<double> values) override {
      const std::int64_t height = matrix_.chunk_.rows;
      for (std::int64_t row = block.rows.begin; row < block.rows.end;) {
        const std::int64_t end = std::min(block.rows.end, row - row % height + height);
        const MatrixBlock part{{row, end}, block.columns};
        const auto begin = static_cast<std::size_t>((row - block.rows.begin) * block.columns.size());
        const auto to = values.subspan(begin, static_cast<std::size_t>(part.size()));
        if (!matrix_.packing_ || !unpack(part, to)) read_by_library(part, to);
        row = end;
      }
    }

   private:
    [[nodiscard]] std::array<hsize_t, 2> first_of(const MatrixBlock& block) const {
      return {static_cast<hsize_t>(block.rows.begin), static_cast<hsize_t>(block.columns.begin)};
    }

    bool unpack(const MatrixBlock& block, std::span<double> values) {
      const Piece& chunk = matrix_.chunk_;
      std::array<hsize_t, 2> first = first_of(block);
      const auto top = static_cast<std::int64_t>(first[0]) % chunk.rows;
      const auto left = static_cast<std::int64_t>(first[1]) % chunk.columns;
      first[0] -= static_cast<hsize_t>(top);
      first[1] -= static_cast<hsize_t>(left);
      const auto bytes = unpacker_.unpack(matrix_.dataset_.get(), *matrix_.packing_,
                                          first.data() + (2 - matrix_.dimensions_));
      if (!bytes) return false;
      const NumberForm& form = *matrix_.form_;
      const auto* const from = reinterpret_cast<const std::byte*>(bytes->data());
      const std::int64_t wide = block.columns.size();
      // Rows that span the whole chunk are contiguous.
      const std::int64_t lines = wide == chunk.columns ? 1 : block.rows.size();
      const std::int64_t count = block.size() / lines;
      for (std::int64_t line = 0; line < lines; ++line) {
        const std::int64_t place = (top + line) * chunk.columns + left;
        form.convert(from + static_cast<std::size_t>(place) * form.bytes,
                     values.subspan(static_cast<std::size_t>(line * count), static_cast<std::size_t>(count)));
      }
      return true;
    }

    /// Also reads chunks that were never written: their values are the dataset's fill value.
    void read_by_library(const MatrixBlock& block, std::span<double> values) const {
      const std::lock_guard lock(hdf5_mutex());
      const QuietHdf5 quiet;
      const std::array<hsize_t, 2> first = first_of(block);
      const std::array<hsize_t, 2> count{static_cast<hsize_t>(block.rows.size()),
                                         static_cast<hsize_t>(block.columns.size())};
      const int skipped = 2 - matrix_.dimensions_;
      const auto size = static_cast<hsize_t>(block.size());
      const Handle space(H5Dget_space(matrix_.dataset_.get()), H5Sclose);
      const Handle memory(H5Screate_simple(1, &size, nullptr), H5Sclose);
      if (H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, first.data() + skipped, nullptr,
                              count.data() + skipped, nullptr) < 0 ||
          H5Dread(matrix_.dataset_.get(), H5T_NATIVE_DOUBLE, memory.get(), space.get(), H5P_DEFAULT,
                  values.data()) < 0)
        matrix_.fail(block);
    }

    const Hdf5Matrix& matrix_;
    ChunkUnpacker unpacker_;
  };
  [[nodiscard]] std::unique_ptr<Reader> reader() const override {
    return std::make_unique<ChunkReader>(*this);
  }
  /// Flat chunks are read several at a time, so that their transpose is written in whole cache lines.
  [[nodiscard]] Piece piece_of(const MatrixBlock& block) const override {
    if (!is_chunked_) return StoredMatrix::piece_of(block);
    constexpr std::int64_t rows_of_line = 8;
    constexpr std::int64_t most_values = std::int64_t{1} << 17;
    const std::int64_t wanted = (rows_of_line - 1) / chunk_.rows + 1;
    const std::int64_t fitting = most_values / std::max<std::int64_t>(1, chunk_.rows * chunk_.columns);
    return {chunk_.rows * std::clamp<std::int64_t>(fitting, 1, wanted), chunk_.columns};
  }

  void find_chunks() {
    const Handle creation(H5Dget_create_plist(dataset_.get()), H5Pclose);
    is_chunked_ = H5Pget_layout(creation.get()) == H5D_CHUNKED;
    if (!is_chunked_) return;
    std::array<hsize_t, 2> extents{1, 1};
    H5Pget_chunk(creation.get(), dimensions_, extents.data() + (2 - dimensions_));
    chunk_ = {static_cast<std::int64_t>(extents[0]), static_cast<std::int64_t>(extents[1])};
    if (form_) packing_ = packing_of(creation.get(), form_->bytes);
    if (!packing_) refuse_filters(creation.get(), name_);
  }

  std::shared_ptr<const Hdf5File> file_;
  std::string name_;
  Handle dataset_;
  int dimensions_;
  std::int64_t rows_ = 1;
  std::int64_t columns_ = 1;
  std::optional<NumberForm> form_;
  bool is_chunked_ = false;
  Piece chunk_;
  std::optional<ChunkPacking> packing_;
};

}  // namespace

std::unique_ptr<StoredMatrix> hdf5_matrix(std::shared_ptr<const Hdf5File> file, const std::string& path,
                                          int dimensions) {
  Handle dataset(H5Dopen2(file->hdf5.get(), path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset.valid())
    throw base::input_error(
        "{}:{}: is not a dataset that this HDF5 can open: if a newer HDF5 wrote the dataset, use h5repack IN "
        "OUT of that version",
        file->opened->path(), path);
  auto matrix = std::make_unique<Hdf5Matrix>(file, path, std::move(dataset), dimensions);
  const std::int64_t offset = matrix->offset();
  if (offset < 0 || !matrix->form()) return matrix;
  return plain_matrix({.file = file->opened,
                       .name = matrix->name(),
                       .offset = offset,
                       .form = *matrix->form(),
                       .rows = matrix->rows(),
                       .columns = matrix->columns()});
}

}  // namespace TESSERA_NAMESPACE::gam
