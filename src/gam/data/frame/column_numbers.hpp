// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/huge_pages.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "files/scratch_memory.hpp"

#include <tessera/version.hpp>

namespace TESSERA_NAMESPACE::gam {

/// The values of a column, one per row. They are in this object, or borrowed from a table in memory (which
/// must outlive this object unchanged), or in zeroed pages (`zeros`) or a scratch file that copies share.
template <class T>
class ColumnStorage {
 public:
  ColumnStorage() = default;
  // Implicit conversion: NOLINTNEXTLINE(google-explicit-constructor)
  ColumnStorage(std::vector<T> own) : own_(std::move(own)) {}
  ColumnStorage(std::initializer_list<T> own) : own_(own) {}
  [[nodiscard]] static ColumnStorage borrow(std::span<const T> values) {
    ColumnStorage out;
    out.elsewhere_ = values;
    return out;
  }
  /// `size` zeros, shared by copies of the column. A page is mapped when a thread writes to it (first touch).
  [[nodiscard]] static ColumnStorage zeros(std::size_t size) {
    ColumnStorage out;
    if (size == 0) return out;
    out.zeros_.reset(static_cast<T*>(std::calloc(size, sizeof(T))), std::free);
    if (!out.zeros_) throw std::bad_alloc();
    base::prefer_huge_pages(out.zeros_.get(), size * sizeof(T));
    out.elsewhere_ = {out.zeros_.get(), size};
    return out;
  }
  /// A column in `memory`, with as many values as fit.
  [[nodiscard]] static ColumnStorage in(files::ScratchMemory memory) {
    ColumnStorage out;
    out.scratch_ = std::make_shared<files::ScratchMemory>(std::move(memory));
    out.elsewhere_ = {static_cast<const T*>(out.scratch_->data()), out.scratch_->size_bytes() / sizeof(T)};
    return out;
  }

  /// Writable values that can grow; values outside this object are copied into it first.
  [[nodiscard]] std::vector<T>& own() {
    if (!elsewhere_.empty()) {
      own_.assign(elsewhere_.begin(), elsewhere_.end());
      elsewhere_ = {};
      zeros_.reset();
      scratch_.reset();
    }
    return own_;
  }
  /// Writable values in place; borrowed values are copied first.
  [[nodiscard]] T* writable() {
    if (scratch_) return static_cast<T*>(scratch_->data());
    return zeros_ ? zeros_.get() : own().data();
  }

  [[nodiscard]] const T* data() const noexcept { return all().data(); }
  [[nodiscard]] std::size_t size() const noexcept { return all().size(); }
  [[nodiscard]] bool empty() const noexcept { return all().empty(); }
  [[nodiscard]] auto begin() const noexcept { return all().begin(); }
  [[nodiscard]] auto end() const noexcept { return all().end(); }
  [[nodiscard]] T operator[](std::size_t row) const noexcept { return data()[row]; }
  friend bool operator==(const ColumnStorage& a, const ColumnStorage& b) {
    return std::ranges::equal(a.all(), b.all());
  }

  /// Prefetches rows from a scratch file: see `files::ScratchMemory`. Does nothing for values in memory.
  void prepare_to_read(std::size_t begin, std::size_t end) const noexcept {
    if (scratch_) scratch_->prepare_to_read(begin * sizeof(T), end * sizeof(T));
  }
  void release_written(std::size_t begin, std::size_t end) const noexcept {
    if (scratch_) scratch_->release_written(begin * sizeof(T), end * sizeof(T));
  }
  void evict(std::size_t begin, std::size_t end) const noexcept {
    if (scratch_) scratch_->evict(begin * sizeof(T), end * sizeof(T));
  }

 private:
  [[nodiscard]] std::span<const T> all() const noexcept {
    return elsewhere_.empty() ? std::span<const T>(own_) : elsewhere_;
  }

  std::vector<T> own_;
  std::span<const T> elsewhere_;
  // The owner of `elsewhere_`, at most one; both null: the values are borrowed, or in `own_`.
  std::shared_ptr<T> zeros_;
  std::shared_ptr<files::ScratchMemory> scratch_;
};

/// The values of a column in several pieces of contiguous memory of any length. Borrowed: the pieces must
/// outlive this object unchanged.
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

  /// Sets out[i] to the value of row rows[i]; faster for increasing rows.
  void gather(std::span<const std::size_t> rows, T* out) const noexcept {
    std::span<const T> piece;
    std::size_t begin = 0;
    for (const std::size_t row : rows) {
      if (row - begin >= piece.size()) {  // also true for row < begin, because the difference is unsigned
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
  std::vector<std::size_t> begins_;
  std::size_t size_ = 0;
};

class NumberView {
 public:
  NumberView() = default;
  // Implicit conversion: NOLINTNEXTLINE(google-explicit-constructor)
  NumberView(const double* run) noexcept : run_(run) {}
  explicit NumberView(const ColumnPieces<double>& pieces) noexcept : pieces_(&pieces) {}

  /// False for a default-constructed view, which has no column.
  explicit operator bool() const noexcept { return run_ != nullptr || pieces_ != nullptr; }
  [[nodiscard]] double operator[](std::size_t row) const noexcept {
    return pieces_ == nullptr ? run_[row] : (*pieces_)[row];
  }
  void gather(std::span<const std::size_t> rows, double* out) const noexcept {
    if (pieces_ != nullptr) return pieces_->gather(rows, out);
    const double* const run = run_;
    for (const std::size_t row : rows) *out++ = run[row];
  }

 private:
  const double* run_ = nullptr;
  const ColumnPieces<double>* pieces_ = nullptr;
};

/// A column of numbers, one per row: in contiguous memory (`ColumnStorage`), or borrowed from a table whose
/// numbers are in several pieces of memory, which need not start at block boundaries.
class ColumnNumbers {
 public:
  ColumnNumbers() = default;
  // Implicit conversions: NOLINTBEGIN(google-explicit-constructor)
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

  /// Writable numbers in contiguous memory, like `ColumnStorage::own`; pieces are copied first.
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
  /// Valid as long as the column.
  [[nodiscard]] NumberView view() const noexcept {
    return pieces_ ? NumberView(*pieces_) : NumberView(run_.data());
  }
  /// See `ColumnPieces::rows`.
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

  void prepare_to_read(std::size_t begin, std::size_t end) const noexcept {
    run_.prepare_to_read(begin, end);
  }
  void release_written(std::size_t begin, std::size_t end) const noexcept {
    run_.release_written(begin, end);
  }
  void evict(std::size_t begin, std::size_t end) const noexcept { run_.evict(begin, end); }

 private:
  ColumnStorage<double> run_;
  std::shared_ptr<const ColumnPieces<double>> pieces_;  // null: contiguous numbers
};

}  // namespace TESSERA_NAMESPACE::gam
