// SPDX-License-Identifier: Apache-2.0
// When preloaded, makes OpenBLAS choose kernels as if it did not know this processor.
#include <dlfcn.h>

#include <cstring>

extern "C" char* getenv(const char* name) noexcept {
  static auto* const real = reinterpret_cast<char* (*)(const char*)>(dlsym(RTLD_NEXT, "getenv"));
  static char prescott[] = "Prescott";
  static bool is_first = true;
  if (std::strcmp(name, "OPENBLAS_CORETYPE") != 0 || !is_first) return real(name);
  is_first = false;
  return prescott;
}
