/* SPDX-License-Identifier: Apache-2.0 */
/* Replacements, in the package's library, for functions that some systems lack; none is exported. */
#include <stdlib.h>
#include <unistd.h>

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
