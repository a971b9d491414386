// SPDX-License-Identifier: Apache-2.0
// Programs without a launcher do not start MPI, and give the same bits.
#include "fit/example.hpp"
#include "info/run_program.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tessera {
namespace {

namespace fs = std::filesystem;

/// A nonexistent transport, with which Open MPI does not start.
constexpr const char* without_mpi = "OMPI_MCA_pml=none OMPI_MCA_btl=none ";

class Alone : public ::testing::Test {
 protected:
  void SetUp() override { std::ofstream(folder_ / "data.csv", std::ios::binary) << example_table(); }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// The arguments after the name of the program.
  [[nodiscard]] std::string fit_into(const std::string& model,
                                     const std::string& more = "--device cpu") const {
    return " fit " + path("data.csv") + " --formula 'exp(y) ~ f + s(x, bs=\"ps\", k=12)' --family gamma" +
           " --threads 2 --out " + path(model) + " " + more;
  }

  TemporaryFolder folder_;
};

TEST_F(Alone, CommandsStartNoMpi) {
  const std::string program = std::string(without_mpi) + TESSERA_FIT;
  EXPECT_EQ(run(program + " --version").status, 0);
  EXPECT_EQ(run(program + " --help").status, 0);
  successful(run(program + fit_into("model.json")));
  for (const std::string& command : {"summary " + path("model.json"), "anova " + path("model.json"),
                                     "predict " + path("model.json") + " " + path("data.csv"),
                                     "report " + path("model.json") + " --out " + path("page.html")}) {
    const ProgramResult result = run(program + " " + command);
    EXPECT_EQ(result.status, 0) << command << '\n' << result.err;
  }
}

TEST_F(Alone, OneOfSeveralRanksAnswersWithoutMpi) {
  ASSERT_EQ(run(TESSERA_FIT + fit_into("model.json")).status, 0);
  const std::string ranks = without_mpi + std::string(TESSERA_MPIRUN) + " 3 ";
  ASSERT_NE(run(ranks + TESSERA_FIT + fit_into("other.json")).status, 0) << "MPI does start";
  for (const std::string& arguments :
       {std::string("--version"), std::string("--help"), std::string("fit --help"),
        "summary " + path("model.json"), "report " + path("model.json") + " --out -"}) {
    const ProgramResult one = successful(run(std::string(TESSERA_FIT) + " " + arguments));
    const ProgramResult all = run(ranks + TESSERA_FIT + " " + arguments);
    EXPECT_EQ(all.status, 0) << arguments << '\n' << all.err;
    EXPECT_TRUE(all.out == one.out) << arguments;
  }
  const ProgramResult version = run(ranks + TESSERA_INFO + " --version");
  EXPECT_EQ(std::count(version.out.begin(), version.out.end(), '\n'), 1) << version.out;
  const ProgramResult missing = run(ranks + TESSERA_FIT + " summary " + path("none.json"));
  EXPECT_EQ(missing.status, 3);
  EXPECT_EQ(complaints(missing.err).size(), 1U) << missing.err;
}

TEST_F(Alone, AFitHasTheBitsOfARankOfMpi) {
  ASSERT_EQ(run(TESSERA_FIT + fit_into("alone.json")).status, 0);
  const ProgramResult one =
      successful(run(std::string(TESSERA_MPIRUN) + " 1 " TESSERA_FIT + fit_into("one.json")));
  const ProgramResult asked = run(TESSERA_FIT " --mpi" + fit_into("asked.json"));
  ASSERT_EQ(asked.status, 0) << asked.err;
  EXPECT_TRUE(read("one.json") == read("alone.json"));
  EXPECT_TRUE(read("asked.json") == read("alone.json"));
}

TEST_F(Alone, AFailureIsOneLine) {
  const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  const ProgramResult missing = run(TESSERA_FIT " summary " + path("none.json"));
  EXPECT_EQ(missing.status, 3);
  EXPECT_EQ(lines(missing.err), 1) << missing.err;
  const ProgramResult wrong = run(TESSERA_FIT " fit --no-such-option");
  EXPECT_EQ(wrong.status, 2);
  EXPECT_EQ(lines(wrong.err), 1) << wrong.err;
  const ProgramResult absent =
      run("TESSERA_SIMULATE='rank9:T4' " TESSERA_FIT + fit_into("model.json", "--device gpu"));
  EXPECT_EQ(absent.status, 5);
  EXPECT_EQ(complaints(absent.err).size(), 1U) << absent.err;
}

TEST_F(Alone, SignalsAreCaughtAsUnderALauncher) {
  const std::string state = path("state");
  const std::string stopped = "TESSERA_FAULT='signal@rank0:pass4' " TESSERA_FIT +
                              fit_into("model.json", "--device cpu --checkpoint " + state);
  const ProgramResult result = run(stopped);
  EXPECT_EQ(result.status, 75) << result.err;
  EXPECT_NE(result.err.find("stopped by SIGUSR1 on rank 0"), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(path("model.json")));
  const ProgramResult resumed =
      run(TESSERA_FIT + fit_into("model.json", "--device cpu --checkpoint " + state));
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  ASSERT_EQ(run(TESSERA_FIT + fit_into("whole.json")).status, 0);
  EXPECT_TRUE(read("model.json") == read("whole.json"));
  const ProgramResult limited = run(TESSERA_FIT + fit_into("late.json", "--time-limit 0.000001"));
  EXPECT_EQ(limited.status, 75) << limited.err;
}

}  // namespace
}  // namespace tessera
