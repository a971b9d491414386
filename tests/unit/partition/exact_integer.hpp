// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace tessera {

/// A non-negative integer below 2^192 by schoolbook arithmetic, in base 2^32 with the lowest digit first:
/// slow, but simple enough to trust. Throws if a result does not fit.
class ExactInteger {
 public:
  ExactInteger(std::uint64_t value = 0) : digits_{value & 0xffffffffU, value >> 32} {}  // NOLINT: implicit

  friend ExactInteger operator+(const ExactInteger& a, const ExactInteger& b) {
    ExactInteger sum;
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < size; ++i) {
      carry += a.digits_[i] + b.digits_[i];
      sum.digits_[i] = carry & 0xffffffffU;
      carry >>= 32;
    }
    if (carry != 0) throw std::overflow_error("sum above 2^192");
    return sum;
  }

  friend ExactInteger operator-(const ExactInteger& a, const ExactInteger& b) {
    if (a < b) throw std::underflow_error("difference below 0");
    ExactInteger difference;
    std::uint64_t borrow = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint64_t digit = (std::uint64_t{1} << 32) + a.digits_[i] - b.digits_[i] - borrow;
      difference.digits_[i] = digit & 0xffffffffU;
      borrow = 1 - (digit >> 32);
    }
    return difference;
  }

  friend ExactInteger operator*(const ExactInteger& a, const ExactInteger& b) {
    ExactInteger product;
    for (std::size_t i = 0; i < size; ++i) {
      if (a.digits_[i] == 0) continue;
      std::uint64_t carry = 0;
      for (std::size_t j = 0; j < size; ++j) {
        const std::uint64_t term = a.digits_[i] * b.digits_[j];
        if (i + j >= size) {
          if (term != 0 || carry != 0) throw std::overflow_error("product above 2^192");
          continue;
        }
        const std::uint64_t digit = term + product.digits_[i + j] + carry;
        product.digits_[i + j] = digit & 0xffffffffU;
        carry = digit >> 32;
      }
    }
    return product;
  }

  friend std::strong_ordering operator<=>(const ExactInteger& a, const ExactInteger& b) {
    for (std::size_t i = size; i-- > 0;)
      if (const auto order = a.digits_[i] <=> b.digits_[i]; order != 0) return order;
    return std::strong_ordering::equal;
  }
  friend bool operator==(const ExactInteger&, const ExactInteger&) = default;

 private:
  static constexpr std::size_t size = 6;
  std::array<std::uint64_t, size> digits_{};
};

}  // namespace tessera
