// SPDX-License-Identifier: Apache-2.0
// unloaded MODULE: a program that uses the library only through a module (unloaded_module.cpp), as R and
// Python do, and closes the module before MPI_Finalize, which calls the functions that the library registered
// with MPI.
#include <mpi.h>

#include <dlfcn.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  void* const module = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  auto* const sum_over_ranks =
      module == nullptr ? nullptr : reinterpret_cast<double (*)()>(dlsym(module, "sum_over_ranks"));
  if (sum_over_ranks == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const double ranks = sum_over_ranks();
  dlclose(module);
  MPI_Finalize();
  std::printf("MPI is over for %g ranks\n", ranks);
  return 0;
}
