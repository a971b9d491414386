// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/huge_pages.hpp"
#include "gam/data/frame/column_numbers.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "files/scratch_memory.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Memory budget of a rank for its columns. A column that exceeds the remaining memory is spilled to a
/// scratch file (out-of-core).
class RowMemory {
 public:
  /// Unlimited.
  RowMemory() = default;
  RowMemory(std::int64_t bytes, std::string folder)
      : bytes_(bytes), left_(bytes), folder_(std::move(folder)) {}

  struct Place {
    std::size_t rows = 0;
    bool in_memory = true;
  };
  template <class T>
  [[nodiscard]] Place place(std::size_t rows) {
    const auto bytes = static_cast<std::int64_t>(rows * sizeof(T));
    const bool in_memory = bytes <= left_;
    if (in_memory)
      left_ -= bytes;
    else
      spilled_ += bytes;
    return {rows, in_memory};
  }
  /// A column of zeros at this place. Thread-safe.
  template <class T>
  [[nodiscard]] ColumnStorage<T> column(const Place& place) const {
    if (!place.in_memory) return ColumnStorage<T>::in(files::ScratchMemory(folder_, place.rows * sizeof(T)));
    ColumnStorage<T> column;
    base::resize_in_huge_pages(column.own(), place.rows);
    return column;
  }

  /// Like `column`, but pages are mapped when a reading thread first writes to them. `ColumnStorage::own`
  /// would copy the column.
  template <class T>
  [[nodiscard]] ColumnStorage<T> zeros(const Place& place) const {
    return place.in_memory ? ColumnStorage<T>::zeros(place.rows) : column<T>(place);
  }

  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::int64_t spilled_bytes() const noexcept { return spilled_; }
  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }

 private:
  std::int64_t bytes_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t left_ = bytes_;
  std::int64_t spilled_ = 0;
  std::string folder_;
};

}  // namespace TESSERA_NAMESPACE::gam
