// SPDX-License-Identifier: Apache-2.0
#include "device/module_library.hpp"

#include <tessera/device/module_cache.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <variant>

#include "fake_compiler.hpp"
#include "temporary_folder.hpp"

namespace tessera {
namespace {

using testing::FakeCompiler;

class ModuleLibraryTest : public ::testing::Test {
 protected:
  void write(const std::string& target, const std::string& image) {
    ASSERT_TRUE(ModuleLibrary::write(folder_.path(), source_, {target, image, {}}));
  }
  [[nodiscard]] std::string code_for(ComputeCapability capability) const {
    const auto found = ModuleLibrary({folder_.path()}).find(source_, capability);
    return found ? found->target + ": " + found->image : "none";
  }

  TemporaryFolder folder_;
  ModuleSource source_{.name = "test", .text = "text", .headers = {}, .options = {}};
};

TEST_F(ModuleLibraryTest, GivesADeviceTheNearestCodeThatItRuns) {
  write("sm_80", std::string("ampere\0code", 11));
  write("sm_90", "hopper");
  write("compute_90", "for later ones");
  EXPECT_EQ(code_for({8, 0}), std::string("sm_80: ampere\0code", 18));
  EXPECT_EQ(code_for({8, 9}), std::string("sm_80: ampere\0code", 18));
  EXPECT_EQ(code_for({9, 0}), "sm_90: hopper");
  EXPECT_EQ(code_for({12, 1}), "compute_90: for later ones");
  EXPECT_EQ(code_for({7, 5}), "none");
}

TEST_F(ModuleLibraryTest, HasNoCodeOfAnotherSource) {
  write("sm_90", "hopper");
  ModuleSource other = source_;
  other.headers.push_back({"constants.hpp", "constexpr int n = 2;"});
  EXPECT_FALSE(ModuleLibrary({folder_.path()}).find(other, {9, 0}));
  EXPECT_FALSE(ModuleLibrary({folder_ / "none"}).find(source_, {9, 0}));
  EXPECT_FALSE(ModuleLibrary({}).find(source_, {9, 0}));
}

TEST_F(ModuleLibraryTest, HasNoCodeFromADamagedFile) {
  write("sm_90", "hopper");
  const std::filesystem::path file = ModuleLibrary::file_of(folder_.path(), source_, "sm_90");
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  EXPECT_EQ(code_for({9, 0}), "none");
}

TEST_F(ModuleLibraryTest, SparesTheCompiler) {
  write("sm_90", "hopper");
  const auto compiler = std::make_shared<FakeCompiler>();
  ModuleCache cache({.compiler = compiler, .directory = "", .library = folder_.path()});
  EXPECT_TRUE(cache.has(source_, {9, 0}));
  EXPECT_FALSE(cache.has(source_, {8, 0}));
  const auto* code = std::get_if<CompiledModule>(&cache.compile(source_, {9, 0}));
  ASSERT_NE(code, nullptr);
  EXPECT_EQ(code->image, "hopper");
  EXPECT_EQ(compiler->compiles, 0);
  EXPECT_EQ(cache.statistics().library_hits, 1);
  (void)cache.compile(source_, {8, 0});
  EXPECT_EQ(compiler->compiles, 1);
}

/// A machine without NVRTC runs the kernels of the library.
TEST_F(ModuleLibraryTest, NeedsNoCompiler) {
  write("sm_90", "hopper");
  const auto compiler = std::make_shared<FakeCompiler>();
  compiler->the_version = "";
  ModuleCache cache({.compiler = compiler, .directory = "", .library = folder_.path()});
  EXPECT_TRUE(std::holds_alternative<CompiledModule>(cache.compile(source_, {9, 0})));
}

}  // namespace
}  // namespace tessera
