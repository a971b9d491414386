// SPDX-License-Identifier: Apache-2.0
// Calls of BLAS and LAPACK by several threads at once.
#include "gam/linalg/linalg.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

TEST(BlasThreads, ComputeWhatOneDoes) {
  constexpr int threads = 4;
  constexpr int repeats = 500;
  Matrix a(256, 45);
  for (int j = 0; j < a.cols(); ++j) {
    for (int i = 0; i < a.rows(); ++i) a(i, j) = std::sin(1.0 + i * (j + 1));
  }
  const Matrix alone = triangle_of(a);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&] {
      for (int repeat = 0; repeat < repeats; ++repeat) {
        if (!std::ranges::equal(triangle_of(a).values(), alone.values())) ++wrong;
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(wrong, 0) << "of " << threads * repeats;
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
