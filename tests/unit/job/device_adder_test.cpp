// SPDX-License-Identifier: Apache-2.0
// The kernels that add vectors on a device, run thread by thread on the host, give the bits of
// ReproducibleSum, for any number of vectors, any width, and any division among threads.
#include "job/sum/device_adder.hpp"
#include "job/sum/add_kernels.cuh"

#include <tessera/device/kernel_compiler.hpp>
#include <tessera/job/reproducible_sum.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <variant>
#include <vector>

namespace tessera::testing {
namespace {

/// Runs a kernel's block, thread by thread between barriers.
template <class Summand>
void add_in_block(const AdderStep& step, const std::vector<Summand>& summands, std::int64_t tile,
                  std::int64_t block, std::vector<SumElement>& results) {
  std::vector<SumElement> sums;
  for (int thread = 0; thread < adder_threads; ++thread)
    sums.push_back(strided_sum(step, summands.data(), tile, block, thread));
  for (std::int32_t rows = step.rows / 2; rows > 0; rows /= 2)
    for (int thread = 0; thread < adder_threads; ++thread) fold_rows(step, sums.data(), rows, thread);
  for (int thread = 0; thread < adder_threads; ++thread)
    store_row(step, sums.data(), tile, block, thread, results.data());
}

template <class Summand>
std::vector<SumElement> after(const AdderStep& step, const std::vector<Summand>& summands) {
  std::vector<SumElement> results(static_cast<std::size_t>(step.blocks * step.width));
  for (std::int64_t block = 0; block < step.blocks; ++block)
    for (std::int64_t tile = 0; tile < adder_tiles(step); ++tile)
      add_in_block(step, summands, tile, block, results);
  return results;
}

/// Runs the steps as `add_on_device` launches them.
std::vector<SumElement> added_by_kernels(const std::vector<double>& summands, std::int64_t width) {
  const auto steps = adder_steps(std::ssize(summands) / width, width);
  std::vector<SumElement> sums = after(steps.front(), summands);
  for (std::size_t step = 1; step < steps.size(); ++step) sums = after(steps[step], sums);
  return sums;
}

std::vector<double> added_by_host(const std::vector<double>& summands, std::int64_t width) {
  ReproducibleSum sum(static_cast<std::size_t>(width));
  for (std::size_t begin = 0; begin < summands.size(); begin += sum.width())
    sum.add(std::span(summands).subspan(begin, sum.width()));
  return sum.values();
}

TEST(DeviceAdder, GivesTheBitsOfTheHostForAnyCountAndWidth) {
  std::mt19937_64 random(36);
  for (const std::int64_t width : {1, 2, 3, 31, 191, 4096, 70000}) {
    for (const std::int64_t count : {1, 2, 17, 1000, 70001}) {
      if (count * width > 5'000'000) continue;
      std::vector<double> summands(static_cast<std::size_t>(count * width));
      for (double& value : summands)
        value = std::ldexp(std::uniform_real_distribution<double>(-1, 1)(random),
                           static_cast<int>(random() % 400) - 200);
      const auto sums = added_by_kernels(summands, width);
      const auto expected = added_by_host(summands, width);
      ASSERT_EQ(std::ssize(sums), width);
      for (std::size_t i = 0; i < sums.size(); ++i)
        ASSERT_EQ(std::bit_cast<std::uint64_t>(rounded(sums[i])), std::bit_cast<std::uint64_t>(expected[i]))
            << count << " vectors of " << width << ", element " << i;
    }
  }
}

TEST(DeviceAdder, ASummandThatIsNotFiniteMakesItsElementNaN) {
  std::vector<double> summands(3000, 1.0);
  summands[1001] = std::numeric_limits<double>::infinity();
  const auto sums = added_by_kernels(summands, 3);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(std::isnan(rounded(sums[i])), i == 1001 % 3);
}

TEST(DeviceAdder, HasFewStepsOfLittleMemoryThatEndWithOneVector) {
  for (const std::int64_t width : {1, 7, 191, 100'000}) {
    for (const std::int64_t count : {1, 5, 100'000, 1 << 29}) {
      const auto steps = adder_steps(count, width);
      EXPECT_LE(steps.size(), 3U);
      EXPECT_EQ(steps.back().blocks, 1);
      for (const AdderStep& step : steps) {
        EXPECT_LE(step.columns * step.rows, adder_threads);
        EXPECT_LE(step.blocks * step.width, std::max<std::int64_t>(width, 1 << 15));
      }
    }
  }
}

TEST(DeviceAdder, HasKernelsThatCompile) {
  const auto compiler = nvrtc_compiler();
  if (compiler->version().empty()) GTEST_SKIP() << "there is no NVRTC";
  const CompileOutcome outcome = compiler->compile(adder_source(), compiler->target_for({9, 0}));
  const auto* failure = std::get_if<CompileFailure>(&outcome);
  EXPECT_EQ(failure, nullptr) << failure->reason << '\n' << failure->log;
}

}  // namespace
}  // namespace tessera::testing
