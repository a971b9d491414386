// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "run_program.hpp"
#include "support/errors.hpp"

namespace tessera {
namespace {

using nlohmann::json;

ProgramResult plan(const std::string& arguments) {
  return run(TESSERA_INFO " plan " + arguments);
}

json plan_json(const std::string& arguments) {
  const auto result = successful(plan(arguments + " --json"));
  EXPECT_EQ(result.err, "");
  return json::parse(result.out);
}

json tile(int rank, int device, std::int64_t begin, std::int64_t end) {
  return {{"rank", rank}, {"device", device}, {"begin", begin}, {"end", end}};
}

TEST(InfoPlan, DocumentedExample) {
  const json answer = plan_json("--scores '100,50;75;0' --units 1000");
  EXPECT_EQ(answer.at("units"), 1000);
  EXPECT_EQ(answer.at("tiles"),
            json::array({tile(0, 0, 0, 445), tile(0, 1, 445, 667), tile(1, 0, 667, 1000)}));
}

TEST(InfoPlan, NeedsNoMpi) {
  // MPI would refuse to start with a transport that does not exist.
  const auto result =
      run("OMPI_MCA_pml=none OMPI_MCA_btl=none " TESSERA_INFO " plan --scores 1 --units 2 --json");
  EXPECT_EQ(result.status, 0) << result.err;
}

TEST(InfoPlan, SpacesAreNoScores) {
  EXPECT_EQ(plan_json("--scores ' 1 , 3 ; ; 4' --units 8").at("tiles"),
            json::array({tile(0, 1, 0, 3), tile(0, 0, 3, 4), tile(2, 0, 4, 8)}));
}

TEST(InfoPlan, Blocks) {
  const json answer = plan_json("--scores '1;1' --units 1050 --block 100");
  EXPECT_EQ(answer.at("block"), 100);
  EXPECT_EQ(answer.at("tiles"), json::array({tile(0, 0, 0, 600), tile(1, 0, 600, 1050)}));
}

TEST(InfoPlan, LargestNumbers) {
  constexpr std::int64_t most = 9223372036854775807;
  EXPECT_EQ(plan_json("--scores '18446744073709551615' --units 9223372036854775807").at("tiles"),
            json::array({tile(0, 0, 0, most)}));
  EXPECT_EQ(plan_json("--scores '1;1' --units 9223372036854775807").at("tiles"),
            json::array({tile(0, 0, 0, most / 2 + 1), tile(1, 0, most / 2 + 1, most)}));
}

TEST(InfoPlan, NoUnitsAndNoDevices) {
  EXPECT_EQ(plan_json("--scores '1;1' --units 0").at("tiles"), json::array());
  const json hosts = plan_json("--scores ';' --units 3");
  EXPECT_EQ(hosts.at("tiles"), json::array());
  EXPECT_EQ(hosts.at("on_devices"), false);
  EXPECT_EQ(hosts.at("hosts"),
            json::array({{{"rank", 0}, {"begin", 0}, {"end", 2}}, {{"rank", 1}, {"begin", 2}, {"end", 3}}}));
}

TEST(InfoPlan, ScoresFromAFile) {
  const json expected = plan_json("--scores '100,50;;75;0' --units 1000");
  for (const char* text : {"100,50\n\n75\n0\n", "100,50\r\n\r\n75\r\n0\r\n", "100, 50\n\n 75\n0"}) {
    const ScratchFile file(text);
    EXPECT_EQ(plan_json("--scores @" + file.path() + " --units 1000"), expected) << text;
  }
}

TEST(InfoPlan, AMillionDevices) {
  std::string text;
  std::uint64_t state = 1;
  for (int i = 0; i < 1'000'000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    text += std::to_string(state >> 24) + '\n';
  }
  const ScratchFile file(text);
  const json answer = plan_json("--scores @" + file.path() + " --units 9223372036854775807");
  const json& tiles = answer.at("tiles");
  EXPECT_EQ(tiles.size(), 1'000'000U);
  std::int64_t covered = 0;
  for (const auto& one : tiles) {
    ASSERT_EQ(one.at("begin"), covered);
    covered = one.at("end");
  }
  EXPECT_EQ(covered, 9223372036854775807);
}

TEST(InfoPlan, TableForAPerson) {
  const auto result = successful(plan("--scores '100,50;75;0' --units 1000"));
  EXPECT_EQ(result.out,
            "Plan of 1000 units in blocks of 1\n"
            "  rank  device  begin   end  units\n"
            "     0       0      0   445    445\n"
            "     0       1    445   667    222\n"
            "     1       0    667  1000    333\n");
}

struct Mistake {
  const char* arguments;
  int status;
  const char* says;
};

class InfoPlanMistake : public ::testing::TestWithParam<Mistake> {};

TEST_P(InfoPlanMistake, OneLineAndAStatus) {
  const auto result = plan(GetParam().arguments);
  EXPECT_EQ(result.status, GetParam().status);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_EQ(result.err.rfind("tessera-info: ", 0), 0U) << result.err;
  EXPECT_NE(result.err.find(GetParam().says), std::string::npos) << result.err;
}

INSTANTIATE_TEST_SUITE_P(
    All, InfoPlanMistake,
    ::testing::Values(
        Mistake{"--scores '1,x;2' --units 3", 2, "rank 0: cannot read the score 'x'"},
        Mistake{"--scores '1;2.5' --units 3", 2, "rank 1: cannot read the score '2.5'"},
        Mistake{"--scores '1;-2' --units 3", 2, "'-2'"}, Mistake{"--scores '1,,2' --units 3", 2, "''"},
        Mistake{"--scores '18446744073709551616' --units 3", 2, "18446744073709551616"},
        Mistake{"--scores '18446744073709551615,1' --units 3", 2, "the sum of the scores exceeds"},
        Mistake{"--scores '' --units 3", 2, "--scores"}, Mistake{"--scores 1", 2, "--units is required"},
        Mistake{"--units 1", 2, "--scores is required"},
        Mistake{"--scores 1 --units -1", 2, "--units: '-1' is not"},
        Mistake{"--scores 1 --units 9223372036854775808", 2, "'9223372036854775808' is not"},
        Mistake{"--scores 1 --units 1e3", 2, "'1e3' is not"},
        Mistake{"--scores 1 --units 3 --block 0", 2, "--block: '0' is not"},
        Mistake{"--scores 1 --units 3 --colour", 2, "--colour"},
        Mistake{"--scores @/no/such/file --units 3", 3, "/no/such/file: cannot be read: No such file"},
        Mistake{"--scores @/ --units 3", 3, "it is a directory"},
        Mistake{"--scores @/dev/zero --units 3", 3, "/dev/zero: cannot be read: it is not a regular file"},
        Mistake{"--scores @/dev/null --units 3", 3, "/dev/null: cannot be read: it is not a regular file"}));

TEST(InfoPlan, MistakeInAFileNamesItsLine) {
  const ScratchFile file("1\n2,3\n4,five\n");
  const auto result = plan("--scores @" + file.path() + " --units 3");
  EXPECT_EQ(result.status, 3);
  EXPECT_TRUE(contains(result.err, file.path() + ", line 3: cannot read the score 'five'"));
}

TEST(InfoPlan, AFullDiskIsAnError) {
  const auto result = run(TESSERA_INFO " plan --scores 1 --units 3 --json >/dev/full");
  EXPECT_EQ(result.status, 3);
  EXPECT_NE(result.err.find("No space left"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace tessera
