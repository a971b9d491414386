// SPDX-License-Identifier: Apache-2.0
// Linked behind a copy of OpenBLAS of the library's own, so that this is constructed after it. A copy for
// several threads has begun one for each core by then, though it never computes by more than its caller.

extern "C" {
// Hidden, lest they be found in an OpenBLAS of the host program's. A copy without threads has not the second.
void openblas_set_num_threads(int) __attribute__((visibility("hidden")));
int blas_thread_shutdown_() __attribute__((weak, visibility("hidden")));

// The link asks for it by this name.
__attribute__((constructor, visibility("hidden"))) void tessera_private_blas_ends_threads() {
  if (blas_thread_shutdown_ == nullptr) return;
  openblas_set_num_threads(1);
  blas_thread_shutdown_();
}
}
