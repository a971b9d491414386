// SPDX-License-Identifier: Apache-2.0
#include "gam/data/matrix/stored_matrix.hpp"

#include "base/errors.hpp"

#include <algorithm>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Values per piece of a matrix without chunks: some hundred kilobytes.
constexpr std::int64_t values_of_piece = std::int64_t{1} << 16;

class PlainMatrix final : public StoredMatrix {
 public:
  explicit PlainMatrix(PlainNumbers numbers) : numbers_(std::move(numbers)) {}

  [[nodiscard]] const std::string& name() const override { return numbers_.name; }
  [[nodiscard]] std::int64_t rows() const override { return numbers_.rows; }
  [[nodiscard]] std::int64_t columns() const override { return numbers_.columns; }
  [[nodiscard]] bool is_exact_in_float() const override { return numbers_.form.is_exact_in_float; }

 private:
  class PlainReader final : public Reader {
   public:
    explicit PlainReader(const PlainMatrix& matrix) : matrix_(matrix) {}
    void read(const MatrixBlock& block, std::span<double> values) override {
      const PlainNumbers& numbers = matrix_.numbers_;
      // Whole rows are contiguous: read them at once.
      const bool whole = block.columns.size() == numbers.columns;
      const std::int64_t count = whole ? block.size() : block.columns.size();
      bytes_.resize(static_cast<std::size_t>(count) * numbers.form.bytes);
      for (std::int64_t row = block.rows.begin; row < (whole ? block.rows.begin + 1 : block.rows.end);
           ++row) {
        const std::int64_t first = row * numbers.columns + block.columns.begin;
        const std::int64_t place = numbers.offset + first * static_cast<std::int64_t>(numbers.form.bytes);
        const std::span<char> room(reinterpret_cast<char*>(bytes_.data()), bytes_.size());
        if (numbers.file->read_at(place, room) < room.size()) matrix_.fail(block);
        const auto done = static_cast<std::size_t>((row - block.rows.begin) * count);
        numbers.form.convert(bytes_.data(), values.subspan(done, static_cast<std::size_t>(count)));
      }
    }

   private:
    const PlainMatrix& matrix_;
    std::vector<std::byte> bytes_;
  };
  [[nodiscard]] std::unique_ptr<Reader> reader() const override {
    return std::make_unique<PlainReader>(*this);
  }

  PlainNumbers numbers_;
};

/// The part of `range` in piece `index`; each piece has `size` elements.
Range within_piece(Range range, std::int64_t size, std::int64_t index) {
  return {std::max(range.begin, index * size), std::min(range.end, (index + 1) * size)};
}

}  // namespace

StoredMatrix::Piece StoredMatrix::piece_of(const MatrixBlock& block) const {
  const std::int64_t wide = std::min(values_of_piece, block.columns.size());
  return {std::max<std::int64_t>(1, values_of_piece / wide),
          block.columns.size() > values_of_piece ? values_of_piece : columns()};
}

void StoredMatrix::read(HostTeam& team, const MatrixBlock& block, Take take) const {
  if (block.size() == 0) return;
  const Piece piece = piece_of(block);
  const std::int64_t first_row = block.rows.begin / piece.rows;
  const std::int64_t first_column = block.columns.begin / piece.columns;
  const std::int64_t down = (block.rows.end - 1) / piece.rows - first_row + 1;
  const std::int64_t across = (block.columns.end - 1) / piece.columns - first_column + 1;
  struct OfThread {
    std::unique_ptr<Reader> reader;
    std::vector<double> values;
  };
  std::vector<OfThread> threads(static_cast<std::size_t>(team.size()));
  team.for_each_block({0, down * across}, 1, [&](int thread, Range one) {
    OfThread& own = threads[static_cast<std::size_t>(thread)];
    if (!own.reader) own.reader = reader();
    const MatrixBlock part{within_piece(block.rows, piece.rows, first_row + one.begin / across),
                           within_piece(block.columns, piece.columns, first_column + one.begin % across)};
    own.values.resize(static_cast<std::size_t>(part.size()));
    own.reader->read(part, own.values);
    take(part, own.values);
  });
}

std::vector<double> StoredMatrix::read(HostTeam& team, Range range) const {
  std::vector<double> all(static_cast<std::size_t>(range.size()));
  read(team, {{0, 1}, range}, [&](const MatrixBlock& block, std::span<const double> values) {
    std::ranges::copy(values, all.begin() + (block.columns.begin - range.begin));
  });
  return all;
}

void StoredMatrix::fail(const MatrixBlock& block) const {
  const std::string place = rows() == 1
                                ? fmt::format("the values {}", block.columns.begin + 1)
                                : fmt::format("the values of rows {} to {} and columns {}",
                                              block.rows.begin + 1, block.rows.end, block.columns.begin + 1);
  throw base::input_error("{}: {} to {} cannot be read, because the file is damaged: write it again", name(),
                          place, block.columns.end);
}

std::unique_ptr<StoredMatrix> plain_matrix(PlainNumbers numbers) {
  return std::make_unique<PlainMatrix>(std::move(numbers));
}

}  // namespace TESSERA_NAMESPACE::gam
