/* SPDX-License-Identifier: Apache-2.0 */
/* unloading_host LIBRARY: a program that has the library as a module, fits in several threads, shuts it
 * down and closes it, twice. Each time it finds its process afterwards as it was before: threads, mappings of
 * the library's files, open files, handlers, locale, folder and floating-point state. The library has no
 * threads before a fit either. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/tessera_gam.h>
#include <unistd.h>

enum { rows = 20000, threads = 3, values = 10 };

static double x[rows], y[rows];

#define CALL(name) __typeof__(&tessera_gam_##name) name
static struct {
  CALL(error);
  CALL(table_open);
  CALL(table_add_numbers);
  CALL(table_close);
  CALL(fit);
  CALL(model_values);
  CALL(model_close);
  CALL(shutdown);
} gam;

static void fail(const char* what, const char* why) {
  fprintf(stderr, "unloading_host: %s: %s\n", what, why);
  exit(1);
}
static void expect(int status, const char* what) {
  if (status != TESSERA_GAM_OK) fail(what, gam.error());
}

static int entries(const char* folder) {
  DIR* const all = opendir(folder);
  int count = 0;
  while (readdir(all) != NULL) ++count;
  closedir(all);
  return count;
}

/* The first mapping of a file of the library's, or "". */
static const char* mapping(void) {
  static char line[4096];
  FILE* const maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps) != NULL) {
    const char* const name = strrchr(line, '/');
    if (name == NULL || strncmp(name, "/libtessera", 11) != 0) continue;
    fclose(maps);
    return line;
  }
  fclose(maps);
  return "";
}

static void handler(int number) {
  (void)number;
}

/* What a process has one of. */
static const char* state(void) {
  static char all[16384];
  char folder[4096];
  size_t at = 0;
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action;
    if (sigaction(number, NULL, &action) != 0) continue;
    at += (size_t)snprintf(all + at, sizeof all - at, "handler %d: %ld %d\n", number,
                           (long)(intptr_t)action.sa_handler, action.sa_flags);
  }
  fenv_t environment;
  fegetenv(&environment);
  feclearexcept(FE_ALL_EXCEPT);
  snprintf(all + at, sizeof all - at, "files %d\nlocale %s\nfolder %s\nrounding %d\ntraps %d\n",
           entries("/proc/self/fd"), setlocale(LC_ALL, NULL), getcwd(folder, sizeof folder), fegetround(),
           fegetexcept());
  return all;
}

/* The coefficients, which each thread fits. */
static void* fit(void* to) {
  const tessera_gam_option options[] = {{"threads", "2"}, {"device", "cpu"}};
  tessera_gam_call call = TESSERA_GAM_CALL;
  call.options = options;
  call.option_count = 2;
  tessera_gam_table table;
  tessera_gam_model model;
  if (gam.table_open(0, NULL, &table) != TESSERA_GAM_USAGE) fail("a table of no rows", "is not refused");
  expect(gam.table_open(rows, NULL, &table), "table_open");
  expect(gam.table_add_numbers(table, "x", x, rows), "table_add_numbers");
  expect(gam.table_add_numbers(table, "y", y, rows), "table_add_numbers");
  expect(gam.fit("y ~ s(x, k=10)", table, &call, &model), "fit");
  expect(gam.model_values(model, "coefficients", to, values), "model_values");
  return NULL;
}

/* Where the library has the core's interface for C, has it keep an error of this thread. */
static void fail_in_the_core(void* library) {
  int (*plan_open)(const void*, int64_t, int64_t, void**);
  *(void**)&plan_open = dlsym(library, "tessera_plan_open");
  if (plan_open != NULL && plan_open(NULL, 1, 1, NULL) == 0) fail("tessera_plan_open", "takes no job");
}

/* Waits until the process has this many threads: the kernel lists a thread for a moment after it was joined.
 */
static void expect_threads(int expected, const char* when) {
  for (int tries = 0; entries("/proc/self/task") != expected; ++tries) {
    if (tries == 10000) fail(when, "threads of the library are left");
    usleep(1000);
  }
}

static void load_and_unload(const char* path, double (*coefficients)[values]) {
  const int before = entries("/proc/self/task");
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fail("dlopen", dlerror());
#define FIND(name) *(void**)&gam.name = dlsym(library, "tessera_gam_" #name)
  FIND(error), FIND(table_open), FIND(table_add_numbers), FIND(table_close), FIND(fit), FIND(model_values);
  FIND(model_close), FIND(shutdown);
  if (gam.shutdown == NULL) fail("dlsym", dlerror());
  if (entries("/proc/self/task") != before) fail("dlopen", "the library has threads");

  pthread_t thread[threads - 1];
  for (int t = 0; t < threads - 1; ++t) {
    if (pthread_create(&thread[t], NULL, fit, coefficients[t]) != 0) fail("pthread_create", "no thread");
  }
  fit(coefficients[threads - 1]); /* this one has texts of the library, too */
  for (int t = 0; t < threads - 1; ++t) pthread_join(thread[t], NULL);
  fail_in_the_core(library);
  expect(gam.shutdown(), "shutdown"); /* with tables and models open */
  expect_threads(before, "shutdown");
  if (*mapping() == '\0') fail("/proc/self/maps", "the library has another name");
  if (dlclose(library) != 0) fail("dlclose", dlerror());
  if (*mapping() != '\0') fail("dlclose has left", mapping());
  expect_threads(before, "dlclose");
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (int i = 0; i < rows; ++i) {
    x[i] = fmod(0.618034 * i, 1);
    y[i] = sin(6 * x[i]) + fmod(0.754878 * i, 0.5);
  }
  signal(SIGUSR1, handler);
  signal(SIGTERM, handler);
  fesetround(FE_TONEAREST);
  char* const before = strdup(state());
  double coefficients[2 * threads][values];
  load_and_unload(argv[1], coefficients);
  load_and_unload(argv[1], coefficients + threads);
  if (strcmp(state(), before) != 0) {
    fprintf(stderr, "before:\n%safterwards:\n%s", before, state());
    return 1;
  }
  free(before);
  for (int i = 1; i < 2 * threads; ++i) {
    if (memcmp(coefficients[i], coefficients[0], sizeof coefficients[0]) != 0)
      fail("a fit", "has other bits");
  }
  return 0;
}
