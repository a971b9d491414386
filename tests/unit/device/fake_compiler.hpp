// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/kernel_compiler.hpp>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>

/// The compiler in tests of caches.
namespace tessera::testing {

/// Its code for a source is a text with source and target. It counts calls, and fails as scripted.
class FakeCompiler : public KernelCompiler {
 public:
  std::string version() override { return the_version; }
  std::string target_for(ComputeCapability capability) override {
    ++targets;
    return capability.major < 7 ? "" : "sm_" + std::to_string(10 * capability.major + capability.minor);
  }
  CompileOutcome compile(const ModuleSource& source, const std::string& target) override {
    ++compiles;
    if (while_compiling) while_compiling();
    if (source.text == "throw") throw std::runtime_error("the compiler lost its temper");
    if (source.text == "broken")
      return CompileFailure{target, "\"" + source.name + "\" cannot be compiled for " + target,
                            "broken(1): error: it is broken\n1 error detected"};
    return CompiledModule{target, code_of(source, target), "a warning"};
  }

  static std::string code_of(const ModuleSource& source, const std::string& target) {
    // The text contains a zero byte, like machine code.
    return target + '\0' + source.text;
  }

  std::string the_version = "fake 1.0";
  std::function<void()> while_compiling;
  std::atomic<int> compiles = 0;
  std::atomic<int> targets = 0;
};

}  // namespace tessera::testing
