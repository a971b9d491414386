// SPDX-License-Identifier: Apache-2.0
// Products of matrices on real devices agree with the host's up to rounding, with the same bits on each.
#include "gam/linalg/device_algebra.hpp"
#include "gpu/job_on_gpus.hpp"
#include "job/state.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <tessera/tessera.hpp>
#include <vector>

namespace {

using namespace tessera::gam;

/// Elements between -1 and 1.
Matrix random_matrix(int rows, int cols, std::mt19937_64& random) {
  Matrix matrix(rows, cols);
  for (double& value : matrix.values()) value = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
  return matrix;
}

class GpuAlgebra : public tessera::testing::GpuJob {
 protected:
  /// a b on each of the job's devices.
  std::vector<Matrix> products(const Matrix& a, const Matrix& b) {
    std::vector<Matrix> all;
    for (std::size_t device = 0; device < job_->devices().size(); ++device) {
      tessera::DeviceContext& context = job_->devices().context_at(device);
      context.bind();
      const tessera::Tile tile = driven_[device].make_tile({0, 1}, {0, 1}, static_cast<int>(device), context,
                                                           job_->buffers().pool_at(device), 0, nullptr);
      all.push_back(DeviceAlgebra(tile, host_).multiply(a, b));
    }
    return all;
  }

  HostAlgebra host_;
  std::map<std::size_t, tessera::DeviceLane> driven_;
};

TEST_F(GpuAlgebra, ProductsAreTheHostsToRounding) {
  struct Shape {
    int m, k, n;
  };
  const std::uint64_t seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  // The last ones are computed on the host: the transfer would take longer.
  for (const auto [m, k, n] :
       {Shape{900, 900, 900}, Shape{401, 517, 333}, Shape{1, 4096, 4096}, Shape{4096, 2048, 1},
        Shape{1025, 64, 1023}, Shape{64, 64, 64}, Shape{1, 1, 1}}) {
    const Matrix a = random_matrix(m, k, random);
    const Matrix b = random_matrix(k, n, random);
    const Matrix expected = host_.multiply(a, b);
    for (const Matrix& product : products(a, b)) {
      ASSERT_EQ(product.rows(), m);
      ASSERT_EQ(product.cols(), n);
      // The bound of a sum of k products of numbers below 1 (Higham 2002, section 3.5).
      const double bound = 2 * k * 0x1p-53 * k;
      for (std::size_t i = 0; i < product.values().size(); ++i)
        ASSERT_NEAR(product.values()[i], expected.values()[i], bound) << m << " x " << k << " x " << n;
    }
  }
}

TEST_F(GpuAlgebra, ProductsHaveTheSameBitsEachTimeAndOnEachDevice) {
  std::mt19937_64 random(11);
  const Matrix a = random_matrix(700, 650, random);
  const Matrix b = random_matrix(650, 720, random);
  const Matrix expected = products(a, b).front();
  for (int round = 0; round < 3; ++round) {
    for (const Matrix& product : products(a, b)) EXPECT_TRUE(product == expected);
  }
}

}  // namespace
