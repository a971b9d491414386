/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of R's BLAS, where it is OpenBLAS. */
#define _GNU_SOURCE
#include <Rinternals.h>
#include <dlfcn.h>

/* NA where R has another BLAS. */
SEXP blas_threads(void) {
  int (*const get)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "openblas_get_num_threads");
  return Rf_ScalarInteger(get != NULL ? get() : NA_INTEGER);
}

SEXP set_blas_threads(SEXP count) {
  void (*const set)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
  if (set != NULL) set(Rf_asInteger(count));
  return R_NilValue;
}
