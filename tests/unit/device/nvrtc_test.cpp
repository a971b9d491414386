// SPDX-License-Identifier: Apache-2.0
// The real compiler, if present. It needs no GPU.
#include <tessera/device/kernel_compiler.hpp>

#include <gtest/gtest.h>

#include "topology/driver/architecture.hpp"

namespace tessera {
namespace {

using detail::code_target;

TEST(CodeTarget, IsTheNewestThatTheDeviceRuns) {
  const std::vector<int> known{75, 80, 86, 89, 90, 100};
  EXPECT_EQ(code_target({9, 0}, known), "sm_90");
  EXPECT_EQ(code_target({8, 7}, known), "sm_86");
  EXPECT_EQ(code_target({7, 5}, known), "sm_75");
  EXPECT_EQ(code_target({10, 3}, known), "sm_100");
}

TEST(CodeTarget, IsPtxForALaterMajorVersion) {
  EXPECT_EQ(code_target({12, 0}, std::vector<int>{80, 90, 100}), "compute_100");
  EXPECT_EQ(code_target({10, 0}, std::vector<int>{80, 90}), "compute_90");
}

TEST(CodeTarget, IsNoneForAnOlderDevice) {
  EXPECT_EQ(code_target({7, 0}, std::vector<int>{75, 80}), "");
  EXPECT_EQ(code_target({9, 0}, {}), "");
}

class NvrtcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (compiler_->version().empty())
      GTEST_SKIP() << std::get<CompileFailure>(compiler_->compile(source_, "sm_90")).reason;
  }

  std::shared_ptr<KernelCompiler> compiler_ = nvrtc_compiler();
  ModuleSource source_{.name = "square",
                       .text = R"(#include <cmath>
#include <cstdint>
#include "scale.hpp"
extern "C" __global__ void square(double* x, std::int64_t n) {
  const std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (i < n) x[i] = scale * std::sqrt(x[i]) * x[i];
}
)",
                       .headers = standard_headers(),
                       .options = {"--std=c++20"}};
};

TEST_F(NvrtcTest, MakesMachineCode) {
  source_.headers.push_back({"scale.hpp", "constexpr double scale = 2;\n"});
  EXPECT_TRUE(compiler_->version().starts_with("nvrtc ")) << compiler_->version();
  const std::string target = compiler_->target_for({9, 0});
  EXPECT_EQ(target, "sm_90");
  const CompileOutcome outcome = compiler_->compile(source_, target);
  const auto* compiled = std::get_if<CompiledModule>(&outcome);
  ASSERT_NE(compiled, nullptr) << std::get<CompileFailure>(outcome).log;
  EXPECT_EQ(compiled->target, "sm_90");
  EXPECT_TRUE(
      compiled->image.starts_with("\x7f"
                                  "ELF"));
  EXPECT_NE(compiled->image.find("square"), std::string::npos);
}

TEST_F(NvrtcTest, MakesPtx) {
  source_.headers.push_back({"scale.hpp", "constexpr double scale = 2;\n"});
  const CompileOutcome outcome = compiler_->compile(source_, "compute_90");
  const auto* compiled = std::get_if<CompiledModule>(&outcome);
  ASSERT_NE(compiled, nullptr) << std::get<CompileFailure>(outcome).log;
  EXPECT_NE(compiled->image.find(".visible .entry square"), std::string::npos);
}

TEST_F(NvrtcTest, SaysWhatIsWrongWithASource) {
  source_.headers.push_back({"scale.hpp", "constexpr double scales = 2;\n"});
  const CompileOutcome outcome = compiler_->compile(source_, "sm_90");
  const auto* failure = std::get_if<CompileFailure>(&outcome);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->reason, "\"square\" cannot be compiled for sm_90");
  EXPECT_NE(failure->log.find("identifier \"scale\" is undefined"), std::string::npos) << failure->log;
  EXPECT_NE(to_string(*failure).find("square(6): error: identifier \"scale\""), std::string::npos)
      << to_string(*failure);
}

TEST_F(NvrtcTest, LooksForIncludesNowhereButInTheHeaders) {
  source_.headers.push_back({"scale.hpp", "#include <stdlib.h>\n"});
  const CompileOutcome outcome = compiler_->compile(source_, "sm_90");
  ASSERT_TRUE(std::holds_alternative<CompileFailure>(outcome));
  EXPECT_NE(std::get<CompileFailure>(outcome).log.find("stdlib.h"), std::string::npos);
}

TEST_F(NvrtcTest, RefusesATargetOrAnOptionThatItDoesNotKnow) {
  source_.headers.push_back({"scale.hpp", "constexpr double scale = 2;\n"});
  EXPECT_TRUE(std::holds_alternative<CompileFailure>(compiler_->compile(source_, "sm_13")));
  source_.options.emplace_back("--make-it-fast");
  const CompileOutcome outcome = compiler_->compile(source_, "sm_90");
  ASSERT_TRUE(std::holds_alternative<CompileFailure>(outcome));
  const std::string told = to_string(std::get<CompileFailure>(outcome));
  EXPECT_NE(told.find("NVRTC_ERROR_INVALID_OPTION"), std::string::npos) << told;
}

}  // namespace
}  // namespace tessera
