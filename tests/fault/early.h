/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESSERA_TESTS_FAULT_EARLY_H
#define TESSERA_TESTS_FAULT_EARLY_H
/* What early.c and early.cpp share. */

#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void* exit_here(void* unused) {
  (void)unused;
  exit(0);
}

/* Calls the function that WAY names. MPI_Finalize ("finalize") returns, and so does any other way. */
static inline void leave(const char* way) {
  if (strcmp(way, "exit") == 0 || strcmp(way, "function") == 0) exit(0);
  if (strcmp(way, "status") == 0 || strcmp(way, "off") == 0) exit(3);
  if (strcmp(way, "quick_exit") == 0) quick_exit(0);
  if (strcmp(way, "_exit") == 0) _exit(0);
  if (strcmp(way, "abort") == 0) abort();
  if (strcmp(way, "finalize") == 0) MPI_Finalize();
  if (strcmp(way, "thread") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, &exit_here, NULL);
    pthread_join(thread, NULL);
  }
}

#endif
