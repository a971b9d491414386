/* SPDX-License-Identifier: Apache-2.0 */
/* Replacements, in the package's library, for functions that some systems lack; none is exported. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Fortran's a // b, padded with blanks to the result's length: the only function of libgfortran that LAPACK uses. */
void _gfortran_concat_string(size_t length, char* result, size_t a_length, const char* a, size_t b_length,
                             const char* b);

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

void _gfortran_concat_string(size_t length, char* result, size_t a_length, const char* a, size_t b_length,
                             const char* b) {
  const size_t from_a = smaller(a_length, length);
  const size_t from_b = smaller(b_length, length - from_a);
  memcpy(result, a, from_a);
  memcpy(result + from_a, b, from_b);
  memset(result + from_a + from_b, ' ', length - from_a - from_b);
}

/* The static libstdc++ calls this function of glibc 2.36 in std::random_device. */
unsigned int arc4random(void);

unsigned int arc4random(void) {
  unsigned int random = 0;
  if (getentropy(&random, sizeof random) != 0) abort();
  return random;
}

#if defined(__x86_64__)
/* glibc 2.35 has a new version of hypot, which does not set errno. Version 2.2.5, in any glibc, computes the same. */
double hypot(double x, double y);
double earlier_hypot(double x, double y);
__asm__(".symver earlier_hypot, hypot@GLIBC_2.2.5");

double hypot(double x, double y) { return earlier_hypot(x, y); }
#endif
