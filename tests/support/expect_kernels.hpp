// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/kernel_compiler.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {

/// Expects that NVRTC compiles the source into these kernels without a warning. Skips without NVRTC.
inline void expect_kernels(ModuleSource source, const char* target, const std::vector<const char*>& kernels) {
  const auto compiler = nvrtc_compiler();
  const std::string version = compiler->version();
  if (version.empty()) GTEST_SKIP() << "there is no NVRTC";
  // Less optimisation halves the compile time.
  if (version.starts_with("nvrtc 13.")) source.options.emplace_back("--Ofast-compile=max");
  const CompileOutcome outcome = compiler->compile(source, target);
  const auto* compiled = std::get_if<CompiledModule>(&outcome);
  ASSERT_NE(compiled, nullptr) << std::get<CompileFailure>(outcome).log;
  EXPECT_EQ(compiled->log, "");
  for (const char* kernel : kernels)
    EXPECT_NE(compiled->image.find(".text." + std::string(kernel)), std::string::npos) << kernel;
}

}  // namespace TESSERA_NAMESPACE::gam::testing
