// SPDX-License-Identifier: Apache-2.0
#include "base/blas_kernels.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace tessera::base {
namespace {

std::string better(const char* taken, Registers registers) {
  const char* const found = better_kernels(taken, registers);
  return found != nullptr ? found : taken;
}

TEST(BlasKernels, UseTheRegistersThereAre) {
  for (const char* old : {"Prescott", "Core2", "Nehalem", "Sandybridge", "Bulldozer", "Steamroller"}) {
    EXPECT_EQ(better(old, Registers::sse), old);
    EXPECT_EQ(better(old, Registers::avx2), "Haswell");
    EXPECT_EQ(better(old, Registers::avx512), "SkylakeX");
  }
  for (const char* with_avx2 : {"Haswell", "Zen", "Excavator"}) {
    EXPECT_EQ(better(with_avx2, Registers::avx2), with_avx2);
    EXPECT_EQ(better(with_avx2, Registers::avx512), "SkylakeX");
  }
  // Kernels that use all registers, and unknown kernels.
  for (const char* kept : {"SkylakeX", "Cooperlake", "SapphireRapids", "neoversen1", "Unknown", ""})
    EXPECT_EQ(better(kept, Registers::avx512), kept);
}

/// An OpenBLAS that does not know the processor.
struct FakeBlas {
  static char* name() { return kernels.data(); }
  static void forget() { kernels.clear(); }
  static void choose() {
    const char* const given = std::getenv(kernels_variable);
    kernels = given != nullptr ? given : "Prescott";
  }
  static inline std::string kernels;
};

class TakeBetterKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* const given = std::getenv(kernels_variable)) given_ = given;
    unsetenv(kernels_variable);
  }
  void TearDown() override {
    unsetenv(kernels_variable);
    if (!given_.empty()) setenv(kernels_variable, given_.c_str(), 1);
  }
  static void take() {
    FakeBlas::choose();
    take_better_kernels({FakeBlas::name, FakeBlas::forget, FakeBlas::choose});
  }

 private:
  std::string given_;
};

TEST_F(TakeBetterKernels, ThanThoseOfAPrescott) {
  take();
  EXPECT_EQ(FakeBlas::kernels, better("Prescott", registers_here()));
  EXPECT_EQ(std::getenv(kernels_variable), nullptr) << "children choose for themselves";
}

TEST_F(TakeBetterKernels, ButLeavesTheUsers) {
  setenv(kernels_variable, "Nehalem", 1);
  take();
  EXPECT_EQ(FakeBlas::kernels, "Nehalem");
  EXPECT_STREQ(std::getenv(kernels_variable), "Nehalem");
}

TEST_F(TakeBetterKernels, AndLeavesAnotherBlas) {
  EXPECT_NO_THROW(take_better_kernels(KernelChoice{}));
}

}  // namespace
}  // namespace tessera::base
