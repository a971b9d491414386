// SPDX-License-Identifier: Apache-2.0
// GPUs that a fake driver cannot read are reported.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "run_program.hpp"
#include "temporary_folder.hpp"

namespace tessera {
namespace {

using nlohmann::json;

/// A node whose driver cannot read GPU 0.
class InfoBrokenGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::filesystem::exists("/dev/nvidiactl"))
      GTEST_SKIP() << "a real driver is found before the made-up one";
    std::filesystem::create_symlink(TESSERA_FAKE_NVML, folder_ / "libnvidia-ml.so.1");
    if (on_node("--json").out.find("this build has no CUDA") != std::string::npos)
      GTEST_SKIP() << "a build without CUDA looks for no GPU";
  }
  [[nodiscard]] ProgramResult on_node(const std::string& arguments) const {
    return run("TESSERA_FAKE_LOST=0 LD_LIBRARY_PATH=" + folder_.path().string() + ":$LD_LIBRARY_PATH " +
               TESSERA_MPIRUN " 2 " TESSERA_INFO " " + arguments);
  }

  TemporaryFolder folder_;
};

TEST_F(InfoBrokenGpu, IsNamedThoughAnotherCanBeRead) {
  const auto table = on_node("");
  const auto named = table.out.find(": the driver cannot read GPU 0: Some Error\n");
  ASSERT_NE(named, std::string::npos) << table.out;
  EXPECT_EQ(table.out.find("GPU 0: Some Error", named + 40), std::string::npos) << "once for a node";
  const json report = json::parse(on_node("--json").out);
  for (const json& rank : report.at("ranks"))
    EXPECT_EQ(rank.at("unreadable"), json::array({"GPU 0: Some Error"})) << rank;
  EXPECT_EQ(report.dump().find("Insufficient Permissions"), std::string::npos);
}

TEST_F(InfoBrokenGpu, FailsTheExercise) {
  const auto result = on_node("--exercise");
  EXPECT_EQ(result.status, 6) << result.err;
  EXPECT_NE(result.out.find("  broken: "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find(": the driver cannot read GPU 0: Some Error"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace tessera
