// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/arrow.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace TESSERA_NAMESPACE::gam {

/// The type of an array's values in a table, and their memory layout.
struct ArrowType {
  enum class Kind : std::uint8_t {
    boolean,  ///< one bit each
    integer,
    unsigned_integer,
    real,
    text,      ///< offsets into one text buffer
    text_view  ///< 16 bytes: a short text, or a reference into one of many buffers
  };
  Kind kind = Kind::real;
  int bytes = 0;        ///< size of a number or offset
  double per_unit = 1;  ///< units per second of a timestamp

  [[nodiscard]] bool is_text() const noexcept { return kind == Kind::text || kind == Kind::text_view; }
  [[nodiscard]] bool is_integer() const noexcept {
    return kind == Kind::integer || kind == Kind::unsigned_integer;
  }
};

/// The type of a column, or of a dictionary's indices or values. Throws `Error(input)` for an unsupported
/// type. `what` names the column in messages.
[[nodiscard]] ArrowType arrow_type(const ArrowSchema& schema, const std::string& what);

/// Read access to consecutive values of an array. The array's structure is checked against its type; buffers
/// need not be aligned.
class ArrowValues {
 public:
  /// Access to values [begin, begin + count), counted from the array's own offset. Throws `Error(input)` if
  /// the structure is inconsistent or does not match the type; `what` names column and batch in messages. The
  /// array must outlive this object.
  ArrowValues(const ArrowArray& array, const ArrowType& type, std::int64_t begin, std::int64_t count,
              const std::string& what);

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool has_nulls() const noexcept { return validity_ != nullptr; }
  [[nodiscard]] bool is_null(std::size_t i) const noexcept {
    return validity_ != nullptr && !bit(validity_, begin_ + i);
  }
  /// Calls `use(i)` for each null value.
  template <class Use>
  void for_each_null(const Use& use) const {
    static_assert(std::endian::native == std::endian::little);
    if (validity_ == nullptr) return;
    std::size_t i = 0;
    const auto look_at_each = [&](std::size_t end) {
      for (; i < end; ++i) {
        if (is_null(i)) use(i);
      }
    };
    constexpr std::size_t width = 64;
    look_at_each(std::min(size_, (8 - begin_ % 8) % 8));
    for (; i + width <= size_; i += width) {
      std::uint64_t valid = 0;
      std::memcpy(&valid, validity_ + (begin_ + i) / 8, sizeof valid);
      for (std::uint64_t nulls = ~valid; nulls != 0; nulls &= nulls - 1)
        use(i + static_cast<std::size_t>(std::countr_zero(nulls)));
    }
    look_at_each(size_);
  }
  [[nodiscard]] bool truth(std::size_t i) const noexcept { return bit(values_, begin_ + i); }
  template <class T>
  [[nodiscard]] T number(std::size_t i) const noexcept {
    T value;
    std::memcpy(&value, values_ + (begin_ + i) * sizeof(T), sizeof(T));
    return value;
  }
  /// Values [i, i + count).
  template <class T, std::size_t count>
  [[nodiscard]] std::array<T, count> numbers(std::size_t i) const noexcept {
    std::array<T, count> some;
    std::memcpy(some.data(), values_ + (begin_ + i) * sizeof(T), sizeof some);
    return some;
  }
  /// All values in place; empty if the buffer is not aligned or there are no values.
  template <class T>
  [[nodiscard]] std::span<const T> in_place() const noexcept {
    if (size_ == 0 || reinterpret_cast<std::uintptr_t>(values_) % alignof(T) != 0) return {};
    return std::span(reinterpret_cast<const T*>(values_) + begin_, size_);
  }
  /// A text. Throws `Error(input)` if offsets decrease or exceed their buffer.
  [[nodiscard]] std::string_view text(std::size_t i) const;

 private:
  static bool bit(const unsigned char* bits, std::size_t i) noexcept {
    return (bits[i / 8] >> (i % 8) & 1) != 0;
  }
  [[noreturn]] void refuse(const std::string& fault) const;
  void check_buffers(const ArrowArray& array);
  [[nodiscard]] std::string_view viewed_text(std::size_t i) const;

  ArrowType type_;
  std::string what_;
  std::size_t begin_ = 0, size_ = 0;
  const unsigned char* validity_ = nullptr;  ///< null: no value is null
  const unsigned char* values_ = nullptr;    ///< numbers, bits, offsets or views
  const char* text_ = nullptr;
  std::span<const void* const> buffers_;  ///< text buffers to which views refer
  const unsigned char* sizes_ = nullptr;  ///< sizes of the buffers
};

}  // namespace TESSERA_NAMESPACE::gam
