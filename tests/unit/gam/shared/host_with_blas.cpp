// SPDX-License-Identifier: Apache-2.0
// host_with_blas DATA FORMULA MODEL: fits a model in a process with another BLAS with two threads, some
// functions of which are replaced by ones that only count their calls, and checks it many times, while
// threads call the library's own BLAS concurrently. Ends with 1 if the other BLAS was called, if its number
// of threads has changed, or if two checks differ.
#include <tessera/gam/gam.hpp>
#include <tessera/job/job.hpp>

#include <dlfcn.h>
#include <lapacke.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <vector>

namespace {
std::atomic<int> calls = 0;

template <typename Function>
Function* of_blas(const char* name) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// The number of checks that differ from the first.
int different_checks(tessera::Job& job, const tessera::gam::Model& model, const tessera::gam::Table& data) {
  constexpr int checks = 20;
  tessera::gam::CheckOptions options;
  options.largest_sample = 100;
  options.permutations = 1;
  const auto observed = [&] {
    std::vector<double> out;
    for (const auto& values : tessera::gam::check(job, model, data, options).concurvity.pairwise)
      out.push_back(values.observed);
    return out;
  };
  const std::vector<double> first = observed();
  int different = 0;
  for (int i = 1; i < checks; ++i) different += std::ranges::equal(observed(), first) ? 0 : 1;
  return different;
}
}  // namespace

// The program's symbols precede those of any library. Their arguments are ignored.
extern "C" {
void openblas_set_num_threads(int /*count*/) {
  ++calls;
}
void dgemm_() {
  ++calls;
}
void cblas_dgemm() {
  ++calls;
}
void cblas_dsyrk() {
  ++calls;
}
void cblas_dtrsm() {
  ++calls;
}
lapack_int LAPACKE_dpotrf(int /*layout*/, char /*part*/, lapack_int /*n*/, double* /*a*/,
                          lapack_int /*lda*/) {
  ++calls;
  return 0;
}
void LAPACKE_set_nancheck(int /*flag*/) {
  ++calls;
}
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  // The one below is a BLAS, with one thread if it is not OpenBLAS.
  auto* const set_threads = of_blas<void(int)>("openblas_set_num_threads");
  auto* const threads = of_blas<int()>("openblas_get_num_threads");
  if (set_threads != nullptr) set_threads(2);
  std::vector<double> matrix{4, 2, 2, 3};
  std::vector<double> values(2);
  if (LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', 2, matrix.data(), 2, values.data()) != 0) return 2;

  calls = 0;
  tessera::JobOptions options;
  options.policy = tessera::Policy::cpu;
  options.threads = 4;
  tessera::Job job(tessera::mpi::Communicator::serial(), options);
  const tessera::gam::Formula formula = tessera::gam::parse_formula(argv[2]);
  const tessera::gam::Table data{argv[1]};
  const tessera::gam::Model model = tessera::gam::fit(job, formula, data).model;
  const int different = different_checks(job, model, data);
  tessera::gam::save_model(model, argv[3]);

  const int left = set_threads != nullptr ? threads() : 2;
  if (calls == 0 && left == 2 && different == 0) return 0;
  std::fprintf(stderr, "%d calls of the host's BLAS, which has %d threads, not 2; %d checks differ\n",
               calls.load(), left, different);
  return 1;
}
