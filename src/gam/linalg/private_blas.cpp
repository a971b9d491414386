// SPDX-License-Identifier: Apache-2.0
// Adapts the library's own copy of OpenBLAS; linked after it, so that it is constructed later. A threaded
// copy has by then started a thread per core, although it must compute only on its caller's thread. A serial
// copy built without USE_LOCKING, as in Debian 12 and Ubuntu 24.04 (0.3.21, 0.3.26), takes free buffers
// without a lock: two threads may get the same buffer, and compute wrong numbers. Its calls for buffers are
// therefore wrapped here (by the linker's --wrap). So is getenv(), since only a variable makes OpenBLAS use
// other kernels, and the environment belongs to the host program.
#include "base/blas_kernels.hpp"

#include <pthread.h>

#include <cstring>
#include <mutex>

extern "C" {
// Hidden, so that these names do not bind to the host program's OpenBLAS. A copy of OpenBLAS without threads
// lacks the second function.
void openblas_set_num_threads(int) __attribute__((visibility("hidden")));
int blas_thread_shutdown_() __attribute__((weak, visibility("hidden")));
char* gotoblas_corename() __attribute__((visibility("hidden")));
void gotoblas_dynamic_init() __attribute__((visibility("hidden")));
void gotoblas_dynamic_quit() __attribute__((visibility("hidden")));
extern bool tessera_private_blas_is_here __attribute__((visibility("hidden")));

// NOLINTBEGIN(bugprone-reserved-identifier)
void* __real_blas_memory_alloc(int) __attribute__((visibility("hidden")));
void __real_blas_memory_free(void*) __attribute__((visibility("hidden")));
void* __wrap_blas_memory_alloc(int) __attribute__((visibility("hidden")));
void __wrap_blas_memory_free(void*) __attribute__((visibility("hidden")));
char* __real_getenv(const char*);
char* __wrap_getenv(const char*) __attribute__((visibility("hidden")));
// NOLINTEND(bugprone-reserved-identifier)
}

namespace {
// Constant-initialised, since OpenBLAS may ask for buffers before constructors run.
constinit std::mutex buffers;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

/// The value of `kernels_variable` that OpenBLAS sees if the user has not set it; null: none.
constinit char* wanted_kernels = nullptr;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
}  // namespace

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier)
void* __wrap_blas_memory_alloc(int argument) {
  const std::lock_guard lock(buffers);
  return __real_blas_memory_alloc(argument);
}
void __wrap_blas_memory_free(void* buffer) {
  const std::lock_guard lock(buffers);
  __real_blas_memory_free(buffer);
}
char* __wrap_getenv(const char* name) {
  char* const value = __real_getenv(name);
  const bool is_asked = wanted_kernels != nullptr && std::strcmp(name, tessera::base::kernels_variable) == 0;
  return value == nullptr && is_asked ? wanted_kernels : value;
}
// NOLINTEND(bugprone-reserved-identifier)

// The linker command requests this function by name.
__attribute__((constructor, visibility("hidden"))) void tessera_private_blas_begins() {
  // Otherwise a child forked while another thread holds the lock could never take it.
  pthread_atfork([] { buffers.lock(); }, [] { buffers.unlock(); }, [] { buffers.unlock(); });
  tessera_private_blas_is_here = true;
  const tessera::base::KernelChoice kernels{gotoblas_corename, gotoblas_dynamic_quit, gotoblas_dynamic_init};
  tessera::base::take_better_kernels(kernels, [&](const char* better) {
    wanted_kernels = const_cast<char*>(better);  // NOLINT(cppcoreguidelines-pro-type-const-cast): only read
    kernels.choose();
    wanted_kernels = nullptr;
  });
  if (blas_thread_shutdown_ == nullptr) return;
  openblas_set_num_threads(1);
  blas_thread_shutdown_();
}
}
