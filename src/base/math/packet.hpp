// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/vectors.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>

/// Packets of n doubles, one SIMD register each, and overloads by which one template serves packets and
/// doubles.
///
/// A source file for one packet width is compiled for processors with such registers (see
/// gam/CMakeLists.txt). Such a file instantiates templates only for packets, so that the linker never uses
/// its code on other processors. Products and sums are rounded separately, so that bits do not depend on the
/// width.
namespace tessera::base {

// The calling convention does not matter, because packets are passed only between inlined functions.
#pragma GCC diagnostic ignored "-Wpsabi"

/// Inlined even without optimisation, and into functions that are compiled for other processors.
#define TESSERA_INLINE [[gnu::always_inline]] inline

/// Vectors of n 64-bit numbers. A macro defines them, because compilers drop the attribute if the size
/// depends on a template parameter.
template <int n>
struct PacketRegisters;
#define TESSERA_REGISTERS(n)                                          \
  template <>                                                         \
  struct PacketRegisters<n> {                                         \
    using Doubles __attribute__((vector_size(8 * (n)))) = double;     \
    using Bits __attribute__((vector_size(8 * (n)))) = std::uint64_t; \
    using Flags __attribute__((vector_size(8 * (n)))) = std::int64_t; \
  }
TESSERA_REGISTERS(2);
TESSERA_REGISTERS(4);
TESSERA_REGISTERS(8);
#undef TESSERA_REGISTERS

/// The result of a comparison, for each lane: 0 or -1.
template <int n>
struct PacketMask {
  using Flags = typename PacketRegisters<n>::Flags;
  Flags flags;

  TESSERA_INLINE friend PacketMask operator&(const PacketMask& a, const PacketMask& b) {
    return {a.flags & b.flags};
  }
  TESSERA_INLINE friend PacketMask operator|(const PacketMask& a, const PacketMask& b) {
    return {a.flags | b.flags};
  }
  TESSERA_INLINE friend bool any(const PacketMask& a) {
    bool is_any = false;
    for (int i = 0; i < n; ++i) is_any |= a.flags[i] != 0;
    return is_any;
  }
};

template <int n>
struct Packet {
  using Doubles = typename PacketRegisters<n>::Doubles;
  using Bits = typename PacketRegisters<n>::Bits;
  static constexpr int count = n;

  Packet() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a constant of a formula
  TESSERA_INLINE Packet(double value) : numbers(Doubles{} + value) {}
  TESSERA_INLINE explicit Packet(const Doubles& the_numbers) : numbers(the_numbers) {}

  TESSERA_INLINE friend Packet operator-(const Packet& a) { return Packet(-a.numbers); }
  TESSERA_INLINE friend Packet operator+(const Packet& a, const Packet& b) {
    return Packet(a.numbers + b.numbers);
  }
  TESSERA_INLINE friend Packet operator-(const Packet& a, const Packet& b) {
    return Packet(a.numbers - b.numbers);
  }
  TESSERA_INLINE friend Packet operator*(const Packet& a, const Packet& b) {
    return Packet(a.numbers * b.numbers);
  }
  TESSERA_INLINE friend Packet operator/(const Packet& a, const Packet& b) {
    return Packet(a.numbers / b.numbers);
  }
  TESSERA_INLINE Packet& operator+=(const Packet& b) { return *this = *this + b; }
  TESSERA_INLINE Packet& operator-=(const Packet& b) { return *this = *this - b; }
  TESSERA_INLINE Packet& operator*=(const Packet& b) { return *this = *this * b; }

  TESSERA_INLINE friend PacketMask<n> operator<(const Packet& a, const Packet& b) {
    return {a.numbers < b.numbers};
  }
  TESSERA_INLINE friend PacketMask<n> operator>(const Packet& a, const Packet& b) {
    return {a.numbers > b.numbers};
  }
  TESSERA_INLINE friend PacketMask<n> operator<=(const Packet& a, const Packet& b) {
    return {a.numbers <= b.numbers};
  }
  TESSERA_INLINE friend PacketMask<n> operator>=(const Packet& a, const Packet& b) {
    return {a.numbers >= b.numbers};
  }
  TESSERA_INLINE friend PacketMask<n> operator==(const Packet& a, const Packet& b) {
    return {a.numbers == b.numbers};
  }

  TESSERA_INLINE friend Packet choose(const PacketMask<n>& where, const Packet& a, const Packet& b) {
    return Packet(where.flags ? a.numbers : b.numbers);
  }
  TESSERA_INLINE friend Bits bits_of(const Packet& a) {
    Bits bits;
    std::memcpy(&bits, &a.numbers, sizeof(bits));
    return bits;
  }
  template <class Function>
  TESSERA_INLINE friend Packet each(const Packet& a, const Function& function) {
    Packet result;
    for (int i = 0; i < n; ++i) result.numbers[i] = function(a.numbers[i]);
    return result;
  }

  TESSERA_INLINE static Packet at(const double* first) {
    Packet a;
    std::memcpy(&a.numbers, first, sizeof(a.numbers));
    return a;
  }
  TESSERA_INLINE void store(double* first) const { std::memcpy(first, &numbers, sizeof(numbers)); }

  Doubles numbers;
};

/// Calls `use` with `register_width()` as an `std::integral_constant`, and returns its result.
template <class Use>
auto at_register_width(const Use& use) {
#ifdef __x86_64__
  if (register_width() == 8) return use(std::integral_constant<int, 8>{});
  if (register_width() == 4) return use(std::integral_constant<int, 4>{});
#endif
  return use(std::integral_constant<int, 2>{});
}

template <class T>
inline constexpr bool is_packet = false;
template <int n>
inline constexpr bool is_packet<Packet<n>> = true;
template <class T>
concept PacketOrDouble = is_packet<T> || std::is_same_v<T, double>;

template <class T>
struct BitsOfType {
  using Type = std::uint64_t;
};
template <int n>
struct BitsOfType<Packet<n>> {
  using Type = typename Packet<n>::Bits;
};
template <class T>
using BitsOf = typename BitsOfType<T>::Type;

/// Bit cast to a double or a packet.
template <class T>
TESSERA_INLINE T number_of(const BitsOf<T>& bits) {
  T number;
  static_assert(sizeof(number) == sizeof(bits));
  std::memcpy(&number, &bits, sizeof(bits));
  return number;
}
inline std::uint64_t bits_of(double a) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &a, sizeof(bits));
  return bits;
}
inline double choose(bool where, double a, double b) {
  return where ? a : b;
}
inline bool any(bool where) {
  return where;
}
template <class Function>
inline double each(double a, const Function& function) {
  return function(a);
}
// Templates for doubles too: a non-template function would be ambiguous with libm's.
template <PacketOrDouble T>
TESSERA_INLINE T fabs(const T& a) {
  return number_of<T>(bits_of(a) & ~(std::uint64_t{1} << 63));
}
template <PacketOrDouble T>
inline T sqrt(const T& a) {
  return each(a, [](double x) { return __builtin_sqrt(x); });
}

}  // namespace tessera::base
