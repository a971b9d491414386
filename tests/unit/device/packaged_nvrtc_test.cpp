// SPDX-License-Identifier: Apache-2.0
// NVRTC is found in a folder outside the system's library path, as in nvidia-cuda-nvrtc of PyPI.
#include <tessera/device/kernel_compiler.hpp>

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(PackagedNvrtc, FindsTheLibraryBesideIt) {
  const auto compiler = nvrtc_compiler();
  ASSERT_EQ(compiler->version(), "nvrtc 13.97");
  const CompileOutcome outcome = compiler->compile({"empty", "", {}, {}}, "sm_90");
  EXPECT_TRUE(std::holds_alternative<CompiledModule>(outcome))
      << to_string(std::get<CompileFailure>(outcome));
}

}  // namespace
}  // namespace tessera
