// SPDX-License-Identifier: Apache-2.0
// Many models whose job is killed at any batch, and while it keeps one: the same command, on another number
// of ranks, gives the bytes of an undisturbed run, and leaves no file of its checkpoint.
#include "support/file_content.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>

#include <hdf5.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace tessera {
namespace {

namespace fs = std::filesystem;

class KilledMany : public ::testing::Test {
 protected:
  static constexpr int rows = 50;
  static constexpr int responses = 9000;  // three batches on a device

  void SetUp() override {
    std::ofstream table(path("cells.csv"));
    table << "t\n";
    std::vector<double> counts;
    for (int i = 0; i < rows; ++i) {
      table << i << '\n';
      for (int g = 0; g < responses; ++g) counts.push_back((i * i + 3 * i * g + g) % (5 + g % 7) + i / 10);
    }
    const hsize_t size[] = {rows, responses};
    const hid_t file = H5Fcreate(path("counts.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(2, size, nullptr);
    const hid_t dataset =
        H5Dcreate2(file, "X", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, counts.data());
    H5Dclose(dataset);
    H5Sclose(space);
    H5Fclose(file);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// Whether the command has succeeded.
  bool go(int ranks, const std::string& fault, const std::string& devices = "--device cpu") {
    const std::string command =
        "TESSERA_FAULT='" + fault + "' TESSERA_SIMULATE='*:H200@node' " TESSERA_MPIRUN " " +
        std::to_string(ranks) + " " TESSERA_FIT " many " + path("cells.csv") + " --responses " +
        path("counts.h5") + ":/X --formula 's(t, k = 4)' --family poisson --covariances --threads 1 " +
        devices + " --checkpoint " + path("state") + " --out " + path("fits.h5") + " --tests " +
        path("tests.csv") + " >" + path("log") + " 2>&1";
    return std::system(command.c_str()) == 0;
  }
  /// The bytes of the outputs, which are removed.
  std::string taken_outputs() {
    std::string bytes;
    for (const char* const name : {"fits.h5", "tests.csv"}) {
      EXPECT_TRUE(fs::exists(path(name))) << log();
      bytes += testing::content_of(path(name));
      fs::remove(path(name));
    }
    for (const auto& entry : fs::directory_iterator(folder_))
      EXPECT_FALSE(entry.path().filename().string().starts_with("state")) << entry.path();
    return bytes;
  }
  [[nodiscard]] std::string log() const { return testing::content_of(path("log")); }

  TemporaryFolder folder_;
};

TEST_F(KilledMany, HaveTheValuesOfAnUndisturbedRun) {
  ASSERT_TRUE(go(2, "")) << log();
  const std::string whole = taken_outputs();
  ASSERT_FALSE(whole.empty());
  for (const char* const fault :
       {"kill@rank0:pass1", "kill@rank1:pass3", "kill@rank0:pass4", "checkpoint-write@rank0:pass2",
        "checkpoint-swap@rank0:pass3", "checkpoint-step@rank0:pass9"}) {
    SCOPED_TRACE(fault);
    EXPECT_FALSE(go(2, fault));
    for (const char* const name : {"fits.h5", "tests.csv"}) EXPECT_FALSE(fs::exists(path(name)));
    ASSERT_TRUE(go(3, "")) << log();
    EXPECT_TRUE(taken_outputs() == whole);
  }
}

TEST_F(KilledMany, AreComputedAnewOnTheCpuIfOneKindIsRequired) {
  ASSERT_TRUE(go(2, "")) << log();
  const std::string whole = taken_outputs();
  // The device has computed the first batch, and fails in the second.
  for (const char* const devices : {"--allow-sharing", "--allow-sharing --require-one-kind"}) {
    ASSERT_TRUE(go(2, "throw@rank*:pass2", devices)) << log();
    EXPECT_NE(log().find("failed in tile"), std::string::npos) << log();
    EXPECT_EQ(log().find("fitted again on the CPU") != std::string::npos,
              std::string(devices).find("one-kind") != std::string::npos)
        << log();
    EXPECT_TRUE(taken_outputs() == whole);
  }
}

}  // namespace
}  // namespace tessera
