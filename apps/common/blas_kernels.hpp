// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>

#include "base/blas_kernels.hpp"
#include "base/shared_library.hpp"

// Functions that only OpenBLAS exports, without a header.
extern "C" {
char* gotoblas_corename() __attribute__((weak));
void gotoblas_dynamic_init() __attribute__((weak));
void gotoblas_dynamic_quit() __attribute__((weak));
}

namespace tessera::apps {

/// Makes OpenBLAS choose its kernels again, because its choice when loaded is not always the fastest. Call
/// this first in a program, before any BLAS computation.
inline void take_better_kernels() {
  base::take_better_kernels({gotoblas_corename, gotoblas_dynamic_quit, gotoblas_dynamic_init});
}

/// The processor type, e.g. "Haswell", of the kernels that a program with the BLAS `library` would use; "not
/// known" if it cannot be opened or is not OpenBLAS. Opens the library without starting its threads.
inline std::string kernels_of(const std::string& library) {
  constexpr const char* threads = "OPENBLAS_NUM_THREADS";
  const bool is_set = std::getenv(threads) != nullptr;
  if (!is_set) setenv(threads, "1", 1);
  const base::SharedLibrary blas(library, base::SharedLibrary::Opening::kept_open);
  if (!is_set) unsetenv(threads);
  base::KernelChoice choice;
  char* (*name)() = nullptr;
  blas.find(choice.name, "gotoblas_corename");
  blas.find(choice.forget, "gotoblas_dynamic_quit");
  blas.find(choice.choose, "gotoblas_dynamic_init");
  base::take_better_kernels(choice);
  return blas.find(name, "openblas_get_corename") ? name() : "not known";
}

}  // namespace tessera::apps
