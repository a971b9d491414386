// SPDX-License-Identifier: Apache-2.0
// Settings of BLAS and LAPACK, which belong to the process, possibly another program's, are restored.
#include "gam/linalg/linalg.hpp"

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <lapacke.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace {

/// A test's hook before the number of threads is set.
std::function<void()> before_setting;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

template <typename Function>
Function* of_openblas(const char* name) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool is_openblas() {
  return of_openblas<void(int)>("openblas_set_num_threads") != nullptr;
}

}  // namespace

// Replace OpenBLAS's own functions, and call them; another BLAS has none, and one thread.
extern "C" {
void openblas_set_num_threads(int count) {
  if (before_setting) before_setting();
  if (auto* const set = of_openblas<void(int)>("openblas_set_num_threads")) set(count);
}
int openblas_get_num_threads() {
  auto* const get = of_openblas<int()>("openblas_get_num_threads");
  return get != nullptr ? get() : 1;
}
}

namespace TESSERA_NAMESPACE::gam {
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
    if (!is_openblas()) GTEST_SKIP() << "this BLAS is not OpenBLAS";
    before_ = openblas_get_num_threads();
    openblas_set_num_threads(3);
    if (openblas_get_num_threads() != 3) GTEST_SKIP() << "this OpenBLAS is serial";
    LAPACKE_set_nancheck(1);
  }
  void TearDown() override { openblas_set_num_threads(before_); }
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

/// Calls of other threads that begin while the first one changes the settings wait for that, and have the
/// bits of one thread too.
TEST_F(BlasSettings, DoNotChangeBitsOfCallsThatBeginTogether) {
  constexpr int yields = 10000;
  const Matrix a = some_matrix();
  const Matrix alone = *cholesky(a);
  std::array<bool, 2> is_same{};
  std::atomic<bool> is_setting = false;
  std::atomic<bool> is_done = false;
  std::thread second([&] {
    is_setting.wait(false);
    is_same[1] = std::ranges::equal(cholesky(a)->values(), alone.values());
    is_done = true;
  });
  before_setting = [&] {
    if (is_setting.exchange(true)) return;
    is_setting.notify_one();
    for (int yield = 0; yield < yields && !is_done; ++yield) std::this_thread::yield();
  };
  is_same[0] = std::ranges::equal(cholesky(a)->values(), alone.values());
  second.join();
  before_setting = {};
  EXPECT_EQ(is_same, (std::array{true, true}));
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
