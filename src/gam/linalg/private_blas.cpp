// SPDX-License-Identifier: Apache-2.0
// Linked behind a copy of OpenBLAS of the library's own, so that this is constructed after it. A copy for
// several threads has begun one for each core by then, though it never computes by more than its caller. A
// serial one that was built without USE_LOCKING, as those of Debian 12 and Ubuntu 24.04 (0.3.21, 0.3.26),
// looks for a free buffer without a lock: two threads may have the same one, and compute wrong numbers. So
// calls for buffers go through here (the linker's --wrap). So does getenv(): by a variable alone OpenBLAS can
// be told to take other kernels, and a host program's environment is not ours to change.
#include "base/blas_kernels.hpp"

#include <pthread.h>

#include <cstring>
#include <mutex>

extern "C" {
// Hidden, lest they be found in an OpenBLAS of the host program's. A copy without threads has not the second.
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
// Constructed before any code runs.
constinit std::mutex buffers;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

/// What OpenBLAS reads in place of a variable that is not set; null: nothing.
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

// The link asks for it by this name.
__attribute__((constructor, visibility("hidden"))) void tessera_private_blas_begins() {
  // A child that is forked while another thread has the lock would never get it.
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
