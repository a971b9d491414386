// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string_view>

/// Vectors of 2, 4 or 8 doubles, made of the compiler's vector types: SSE2, AVX2 and AVX-512 on x86-64;
/// elsewhere 2 doubles. base/each_width.hpp includes a header once per width, and
/// TESSERA_AT_WIDTH(function(arguments)) calls the version for this processor. Products and sums are rounded
/// separately, so that bits do not depend on the width.
namespace tessera::base {

/// `n` consecutive numbers as one SIMD value. Memory needs only the alignment of one number.
template <int n>
struct Vectors;

// A macro, because compilers drop these attributes if the size depends on a template parameter. `at` returns
// pointers, because Clang drops the alignment of a reference.
#define TESSERA_VECTORS(n)                                                                            \
  template <>                                                                                         \
  struct Vectors<n> {                                                                                 \
    using Doubles __attribute__((vector_size(8 * (n)), aligned(8), may_alias)) = double;              \
    using Ints __attribute__((vector_size(4 * (n)), aligned(4), may_alias)) = int;                    \
    static constexpr int count = n;                                                                   \
    static Doubles* at(double* first) { return reinterpret_cast<Doubles*>(first); }                   \
    static const Doubles* at(const double* first) { return reinterpret_cast<const Doubles*>(first); } \
    static Ints* at(int* first) { return reinterpret_cast<Ints*>(first); }                            \
  }
// NOLINTBEGIN(readability-non-const-parameter): the result is written to
TESSERA_VECTORS(2);
TESSERA_VECTORS(4);
TESSERA_VECTORS(8);
// NOLINTEND(readability-non-const-parameter)
#undef TESSERA_VECTORS

/// Doubles per SIMD register of this processor, limited by $TESSERA_INSTRUCTION_SET. Tests may lower it.
inline int& register_width() {
  static int width = [] {
#ifdef __x86_64__
    const char* const variable = std::getenv("TESSERA_INSTRUCTION_SET");
    const std::string_view limit = variable != nullptr ? variable : "";
    if (limit == "sse2") return 2;
    if (limit != "avx2" && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
      return 8;
    if (__builtin_cpu_supports("avx2")) return 4;
#endif
    return 2;
  }();
  return width;
}

inline const char* instruction_set() {
#ifdef __x86_64__
  return register_width() == 8 ? "AVX-512" : register_width() == 4 ? "AVX2" : "SSE2";
#else
  return "128 bits";
#endif
}

}  // namespace tessera::base

#ifdef __x86_64__
#define TESSERA_AT_WIDTH(...)                                      \
  (::tessera::base::register_width() == 8   ? lanes_8::__VA_ARGS__ \
   : ::tessera::base::register_width() == 4 ? lanes_4::__VA_ARGS__ \
                                            : lanes_2::__VA_ARGS__)
#else
#define TESSERA_AT_WIDTH(...) lanes_2::__VA_ARGS__
#endif
