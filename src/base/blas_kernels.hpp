// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

/// Better kernels for an OpenBLAS that was built for many processors (DYNAMIC_ARCH): on an Intel processor
/// that is newer than the library, OpenBLAS falls back to the kernels of a Prescott, without AVX and FMA.
namespace tessera::base {

/// The largest registers that the processor and the system allow.
enum class Registers { sse, avx2, avx512 };

inline Registers registers_here() noexcept {
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    return Registers::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Registers::avx2;
#endif
  return Registers::sse;
}

/// The kernels to use instead of `taken`, if `taken` uses smaller registers than `registers`. Null if it does
/// not, or if its name is unknown.
constexpr const char* better_kernels(std::string_view taken, Registers registers) noexcept {
  constexpr std::array<std::string_view, 15> without_avx2{
      "Prescott",     "Atom",      "Core2", "Penryn", "Dunnington", "Nehalem",    "Sandybridge", "Opteron",
      "Opteron_SSE3", "Barcelona", "Nano",  "Bobcat", "Bulldozer",  "Piledriver", "Steamroller"};
  constexpr std::array<std::string_view, 3> without_avx512{"Haswell", "Zen", "Excavator"};
  const bool lacks_avx2 = std::ranges::find(without_avx2, taken) != without_avx2.end();
  const bool lacks_avx512 = lacks_avx2 || std::ranges::find(without_avx512, taken) != without_avx512.end();
  if (registers == Registers::avx512 && lacks_avx512) return "SkylakeX";
  if (registers == Registers::avx2 && lacks_avx2) return "Haswell";
  return nullptr;
}

/// The variable with which a user selects kernels.
inline constexpr const char* kernels_variable = "OPENBLAS_CORETYPE";

/// OpenBLAS's unexported entry points; null for another BLAS, or for kernels of a single processor.
struct KernelChoice {
  char* (*name)() = nullptr;   ///< gotoblas_corename
  void (*forget)() = nullptr;  ///< gotoblas_dynamic_quit
  void (*choose)() = nullptr;  ///< gotoblas_dynamic_init: chooses by the processor and the variable
};

/// Makes OpenBLAS select better kernels, unless the user has set `kernels_variable`. Call it before the first
/// use of BLAS. `choose(value)` must make OpenBLAS select again as if the variable had that value.
template <class Choose>
void take_better_kernels(const KernelChoice& blas, Choose&& choose) {
  if (blas.name == nullptr || blas.forget == nullptr || blas.choose == nullptr) return;
  const char* const better = better_kernels(blas.name(), registers_here());
  if (better == nullptr || std::getenv(kernels_variable) != nullptr) return;
  blas.forget();
  choose(better);
}

/// For the project's programs: sets the variable while OpenBLAS selects again, so that child processes do not
/// inherit it. Call it while the program has one thread.
inline void take_better_kernels(const KernelChoice& blas) {
  take_better_kernels(blas, [&](const char* kernels) {
    setenv(kernels_variable, kernels, 1);
    blas.choose();
    unsetenv(kernels_variable);
  });
}

}  // namespace tessera::base
