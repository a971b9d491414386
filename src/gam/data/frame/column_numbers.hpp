// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/column_storage.hpp"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The values of a column in several contiguous pieces of memory, each of any length. Borrowed: they must
/// outlive this unchanged.
template <class T>
class ColumnPieces {
 public:
  ColumnPieces() = default;
  explicit ColumnPieces(std::span<const std::span<const T>> pieces) {
    for (const std::span<const T> piece : pieces) {
      if (piece.empty()) continue;
      begins_.push_back(size_);
      pieces_.push_back(piece);
      size_ += piece.size();
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<const std::span<const T>> pieces() const noexcept { return pieces_; }
  [[nodiscard]] T operator[](std::size_t row) const noexcept {
    const std::size_t piece = piece_of(row);
    return pieces_[piece][row - begins_[piece]];
  }

  /// Calls `use(values)` for each contiguous part of rows [begin, end), in order.
  template <class Use>
  void for_each(std::size_t begin, std::size_t end, const Use& use) const {
    if (begin >= end) return;
    for (std::size_t piece = piece_of(begin); begin < end; ++piece) {
      const std::size_t first = begin - begins_[piece];
      const std::size_t count = std::min(end - begin, pieces_[piece].size() - first);
      use(pieces_[piece].subspan(first, count));
      begin += count;
    }
  }

  /// out[i] = the value of row rows[i]; faster for increasing rows.
  void gather(std::span<const std::size_t> rows, T* out) const noexcept {
    std::span<const T> piece;
    std::size_t begin = 0;
    for (const std::size_t row : rows) {
      if (row - begin >= piece.size()) {  // or row < begin: the difference is unsigned
        begin = begins_[piece_of(row)];
        piece = pieces_[piece_of(row)];
      }
      *out++ = piece[row - begin];
    }
  }

  /// The values of rows [begin, end): in place if one piece contains them all, otherwise copied to `copy`.
  [[nodiscard]] std::span<const T> rows(std::size_t begin, std::size_t end, std::vector<T>& copy) const {
    if (begin >= end) return {};
    const std::size_t piece = piece_of(begin);
    if (end - begins_[piece] <= pieces_[piece].size())
      return pieces_[piece].subspan(begin - begins_[piece], end - begin);
    copy.clear();
    for_each(begin, end, [&](std::span<const T> part) { copy.insert(copy.end(), part.begin(), part.end()); });
    return copy;
  }

 private:
  [[nodiscard]] std::size_t piece_of(std::size_t row) const noexcept {
    return static_cast<std::size_t>(std::ranges::upper_bound(begins_, row) - begins_.begin()) - 1;
  }

  std::vector<std::span<const T>> pieces_;
  std::vector<std::size_t> begins_;  // the first row of each
  std::size_t size_ = 0;
};

/// Read access to numbers by row: in one run of memory, or in pieces.
class NumberView {
 public:
  NumberView() = default;
  // Implicit: NOLINTNEXTLINE(google-explicit-constructor)
  NumberView(const double* run) noexcept : run_(run) {}
  explicit NumberView(const ColumnPieces<double>& pieces) noexcept : pieces_(&pieces) {}

  /// False without a column.
  explicit operator bool() const noexcept { return run_ != nullptr || pieces_ != nullptr; }
  [[nodiscard]] double operator[](std::size_t row) const noexcept {
    return pieces_ == nullptr ? run_[row] : (*pieces_)[row];
  }
  /// out[i] = the number of row rows[i].
  void gather(std::span<const std::size_t> rows, double* out) const noexcept {
    if (pieces_ != nullptr) return pieces_->gather(rows, out);
    const double* const run = run_;
    for (const std::size_t row : rows) *out++ = run[row];
  }

 private:
  const double* run_ = nullptr;
  const ColumnPieces<double>* pieces_ = nullptr;
};

/// A column of numbers, one a row: in one run of memory (`ColumnStorage`), or borrowed from a table with the
/// numbers in several pieces of memory, which need not start at block boundaries.
class ColumnNumbers {
 public:
  ColumnNumbers() = default;
  // Implicit: NOLINTBEGIN(google-explicit-constructor)
  ColumnNumbers(ColumnStorage<double> run) : run_(std::move(run)) {}
  ColumnNumbers(std::vector<double> own) : run_(std::move(own)) {}
  ColumnNumbers(std::initializer_list<double> own) : run_(own) {}
  // NOLINTEND(google-explicit-constructor)
  [[nodiscard]] static ColumnNumbers borrow(std::span<const std::span<const double>> pieces) {
    ColumnNumbers out;
    ColumnPieces<double> all(pieces);
    if (all.pieces().size() == 1)
      out.run_ = ColumnStorage<double>::borrow(all.pieces().front());
    else if (all.size() > 0)
      out.pieces_ = std::make_shared<const ColumnPieces<double>>(std::move(all));
    return out;
  }

  /// Writable numbers in one run of memory, as in `ColumnStorage`; pieces are copied first.
  [[nodiscard]] std::vector<double>& own() {
    if (pieces_) {
      std::vector<double> joined;
      joined.reserve(size());
      for (const auto piece : pieces_->pieces()) joined.insert(joined.end(), piece.begin(), piece.end());
      *this = std::move(joined);
    }
    return run_.own();
  }
  [[nodiscard]] double* writable() { return pieces_ ? own().data() : run_.writable(); }

  [[nodiscard]] std::size_t size() const noexcept { return pieces_ ? pieces_->size() : run_.size(); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] double operator[](std::size_t row) const noexcept {
    return pieces_ ? (*pieces_)[row] : run_[row];
  }
  /// A view of the numbers, valid as long as they are.
  [[nodiscard]] NumberView view() const noexcept {
    return pieces_ ? NumberView(*pieces_) : NumberView(run_.data());
  }
  /// Rows [begin, end): see `ColumnPieces::rows`.
  [[nodiscard]] std::span<const double> rows(std::size_t begin, std::size_t end,
                                             std::vector<double>& copy) const {
    return pieces_ ? pieces_->rows(begin, end, copy) : std::span(run_.data() + begin, end - begin);
  }
  template <class Use>
  void for_each_piece(std::size_t begin, std::size_t end, const Use& use) const {
    if (pieces_)
      pieces_->for_each(begin, end, use);
    else
      use(std::span(run_.data() + begin, end - begin));
  }
  [[nodiscard]] bool is_one_run() const noexcept { return !pieces_; }
  /// Whether both refer to the same memory.
  [[nodiscard]] bool is_same_memory(const ColumnNumbers& other) const noexcept {
    return pieces_ == other.pieces_ && run_.data() == other.run_.data() && size() == other.size();
  }
  friend bool operator==(const ColumnNumbers& a, const ColumnNumbers& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t row = 0; row < a.size(); ++row) {
      if (a[row] != b[row]) return false;
    }
    return true;
  }

  /// Takes rows: see `files::ScratchMemory`. Does nothing for values in memory.
  void prepare_to_read(std::size_t begin, std::size_t end) const noexcept {
    run_.prepare_to_read(begin, end);
  }
  void release_written(std::size_t begin, std::size_t end) const noexcept {
    run_.release_written(begin, end);
  }
  void let_go(std::size_t begin, std::size_t end) const noexcept { run_.let_go(begin, end); }

 private:
  ColumnStorage<double> run_;
  std::shared_ptr<const ColumnPieces<double>> pieces_;  // null: one run
};

}  // namespace TESSERA_NAMESPACE::gam
