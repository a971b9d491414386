// SPDX-License-Identifier: Apache-2.0
// The settings of BLAS and LAPACK are the process's, which may be another program's.
#include "gam/linalg/linalg.hpp"

#include <gtest/gtest.h>

#include <lapacke.h>

#include <thread>
#include <vector>

extern "C" {
// NOLINTNEXTLINE(readability-redundant-declaration)
void openblas_set_num_threads(int) __attribute__((weak));
// NOLINTNEXTLINE(readability-redundant-declaration)
int openblas_get_num_threads() __attribute__((weak));
}

namespace tessera::gam {
namespace {

/// Symmetric and positive definite, large enough for several threads.
Matrix some_matrix() {
  constexpr int n = 400;
  Matrix a(n, n);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) a(i, j) = 1.0 / (1 + (i > j ? i - j : j - i)) + (i == j ? 2 : 0);
  }
  return a;
}

class BlasSettings : public ::testing::Test {
 protected:
  void SetUp() override {
    if (openblas_set_num_threads == nullptr) GTEST_SKIP() << "this BLAS is not OpenBLAS";
    before_ = openblas_get_num_threads();
    openblas_set_num_threads(3);
    LAPACKE_set_nancheck(1);
  }
  void TearDown() override {
    if (openblas_set_num_threads != nullptr) openblas_set_num_threads(before_);
  }
  static void expect_untouched() {
    EXPECT_EQ(openblas_get_num_threads(), 3);
    EXPECT_EQ(LAPACKE_get_nancheck(), 1);
  }

 private:
  int before_ = 1;
};

TEST_F(BlasSettings, AreTheHostsAfterACall) {
  (void)cholesky(some_matrix());
  expect_untouched();
  (void)multiply(some_matrix(), some_matrix());
  expect_untouched();
}

TEST_F(BlasSettings, AreTheHostsAfterCallsOfSeveralThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      const Matrix a = some_matrix();
      for (int repeat = 0; repeat < 20; ++repeat) (void)multiply_t(a, a.column(0));
      (void)cholesky(a);
    });
  }
  for (std::thread& thread : threads) thread.join();
  expect_untouched();
}

TEST_F(BlasSettings, DoNotChangeBits) {
  const Matrix a = some_matrix();
  const Matrix with_three = *cholesky(a);
  openblas_set_num_threads(1);
  const Matrix with_one = *cholesky(a);
  openblas_set_num_threads(3);
  for (int j = 0; j < a.cols(); ++j) {
    for (int i = 0; i < a.rows(); ++i) ASSERT_EQ(with_three(i, j), with_one(i, j)) << i << ", " << j;
  }
}

}  // namespace
}  // namespace tessera::gam
