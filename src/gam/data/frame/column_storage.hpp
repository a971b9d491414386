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

/// The values of a column, one a row: owned; borrowed from a table in memory, which must outlive this
/// unchanged; or in zeroed pages (`zeros`) or a scratch file, shared by copies of the column.
template <class T>
class ColumnStorage {
 public:
  ColumnStorage() = default;
  // Implicit: NOLINTNEXTLINE(google-explicit-constructor)
  ColumnStorage(std::vector<T> own) : own_(std::move(own)) {}
  ColumnStorage(std::initializer_list<T> own) : own_(own) {}
  [[nodiscard]] static ColumnStorage borrow(std::span<const T> values) {
    ColumnStorage out;
    out.elsewhere_ = values;
    return out;
  }
  /// Zeros in memory shared by copies; the system maps pages on first write, by the writing threads.
  [[nodiscard]] static ColumnStorage zeros(std::size_t size) {
    ColumnStorage out;
    if (size == 0) return out;
    out.zeros_.reset(static_cast<T*>(std::calloc(size, sizeof(T))), std::free);
    if (!out.zeros_) throw std::bad_alloc();
    base::prefer_huge_pages(out.zeros_.get(), size * sizeof(T));
    out.elsewhere_ = {out.zeros_.get(), size};
    return out;
  }
  /// As many values as the scratch memory holds.
  [[nodiscard]] static ColumnStorage in(files::ScratchMemory memory) {
    ColumnStorage out;
    out.scratch_ = std::make_shared<files::ScratchMemory>(std::move(memory));
    out.elsewhere_ = {static_cast<const T*>(out.scratch_->data()), out.scratch_->size_bytes() / sizeof(T)};
    return out;
  }

  /// Writable values that can grow: borrowed or scratch values are copied first.
  [[nodiscard]] std::vector<T>& own() {
    if (!elsewhere_.empty()) {
      own_.assign(elsewhere_.begin(), elsewhere_.end());
      elsewhere_ = {};
      zeros_.reset();
      scratch_.reset();
    }
    return own_;
  }
  /// Writable values in place; borrowed ones are copied first.
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

  /// Takes rows: see `files::ScratchMemory`. Does nothing for values in memory.
  void prepare_to_read(std::size_t begin, std::size_t end) const noexcept {
    if (scratch_) scratch_->prepare_to_read(begin * sizeof(T), end * sizeof(T));
  }
  void release_written(std::size_t begin, std::size_t end) const noexcept {
    if (scratch_) scratch_->release_written(begin * sizeof(T), end * sizeof(T));
  }
  void let_go(std::size_t begin, std::size_t end) const noexcept {
    if (scratch_) scratch_->let_go(begin * sizeof(T), end * sizeof(T));
  }

 private:
  [[nodiscard]] std::span<const T> all() const noexcept {
    return elsewhere_.empty() ? std::span<const T>(own_) : elsewhere_;
  }

  std::vector<T> own_;
  std::span<const T> elsewhere_;
  // At most one of these holds the values.
  std::shared_ptr<T> zeros_;
  std::shared_ptr<files::ScratchMemory> scratch_;
};

}  // namespace TESSERA_NAMESPACE::gam
