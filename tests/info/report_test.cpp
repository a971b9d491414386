// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <tessera/version.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "run_program.hpp"

namespace tessera {
namespace {

using nlohmann::json;

/// Every rank with its own simulated devices: two H200, one T4, none.
constexpr const char* mixed = "rank0:2xH200; rank1:T4";

ProgramResult info(const std::string& simulate, int ranks, const std::string& arguments) {
  return run("TESSERA_SIMULATE='" + simulate + "' " TESSERA_MPIRUN " " + std::to_string(ranks) +
             " " TESSERA_INFO " " + arguments);
}

json info_json(const std::string& simulate, int ranks, const std::string& arguments) {
  const auto result = info(simulate, ranks, "--json " + arguments);
  EXPECT_EQ(result.status, 0) << result.err;
  return json::parse(result.out);
}

TEST(InfoReport, WhoDrivesWhat) {
  const json report = info_json(mixed, 3, "--units 1000 --block 10");
  EXPECT_EQ(report.at("version"), version());
  EXPECT_EQ(report.at("policy"), "auto");
  ASSERT_EQ(report.at("nodes").size(), 1U);
  EXPECT_EQ(report["nodes"][0].at("ranks"), json::array({0, 1, 2}));

  const json& ranks = report.at("ranks");
  ASSERT_EQ(ranks.size(), 3U);
  EXPECT_EQ(ranks[0].at("drives"), 2);
  EXPECT_EQ(ranks[0].at("visible").size(), 2U);
  EXPECT_TRUE(ranks[0].at("absence").is_null());
  EXPECT_EQ(ranks[1].at("drives"), 1);
  EXPECT_EQ(ranks[2].at("drives"), 0);
  EXPECT_TRUE(ranks[2].at("absence").is_string());
  for (const auto& rank : ranks) {
    EXPECT_FALSE(rank.at("hostname").get<std::string>().empty());
    EXPECT_FALSE(rank.at("cpuset").get<std::string>().empty());
    EXPECT_FALSE(rank.at("numa_nodes").empty());
    EXPECT_GE(rank.at("threads").get<int>(), 1);
  }

  const json& devices = report.at("devices");
  ASSERT_EQ(devices.size(), 3U);
  EXPECT_EQ(devices[0].at("rank"), 0);
  EXPECT_EQ(devices[1].at("device"), 1);
  EXPECT_EQ(devices[2].at("rank"), 1);
  EXPECT_EQ(devices[0].at("compute_capability"), json::array({9, 0}));
  for (const auto& device : devices) {
    EXPECT_EQ(device.at("simulated"), true);
    EXPECT_EQ(device.at("sharers"), 1);
    EXPECT_GT(device.at("score").get<std::uint64_t>(), 0U);
    EXPECT_GT(device.at("memory_budget_bytes").get<std::int64_t>(), 0);
  }
  EXPECT_GT(devices[0].at("score"), devices[2].at("score"));
  EXPECT_EQ(ranks[1].at("visible"), json::array({devices[2].at("uuid")}));

  const json& plan = report.at("plan");
  EXPECT_EQ(plan.at("units"), 1000);
  EXPECT_EQ(plan.at("on_devices"), true);
  std::int64_t covered = 0;
  for (const auto& tile : plan.at("tiles")) {
    EXPECT_EQ(tile.at("begin"), covered);
    EXPECT_EQ(tile.at("begin").get<std::int64_t>() % 10, 0);
    EXPECT_NE(tile.at("rank"), 2);
    covered = tile.at("end");
  }
  EXPECT_EQ(covered, 1000);
}

TEST(InfoReport, ThePlanIsTheOneOfTheScores) {
  const json report = info_json(mixed, 3, "--score-model spec --units 100000");
  std::string scores;
  for (const auto& device : report.at("devices"))
    scores += (scores.empty()           ? ""
               : device.at("rank") == 1 ? ";"
                                        : ",") +
              std::to_string(device.at("score").get<std::uint64_t>());
  const auto result = run(TESSERA_INFO " plan --json --units 100000 --scores '" + scores + ";'");
  EXPECT_EQ(json::parse(result.out).at("tiles"), report.at("plan").at("tiles"));
  EXPECT_EQ(report.at("score_model"), "spec");
}

TEST(InfoReport, SharingOnlyWhereAllowed) {
  const json alone = info_json("*:H200@node", 2, "");
  ASSERT_EQ(alone.at("devices").size(), 1U);
  EXPECT_TRUE(alone.at("ranks")[1].at("absence").is_string());
  const json shared = info_json("*:H200@node", 2, "--allow-sharing");
  ASSERT_EQ(shared.at("devices").size(), 2U);
  EXPECT_EQ(shared["devices"][0].at("uuid"), shared["devices"][1].at("uuid"));
  EXPECT_EQ(shared["devices"][0].at("sharers"), 2);
  EXPECT_EQ(shared["devices"][0].at("score"), alone["devices"][0].at("score").get<std::uint64_t>() / 2);
}

TEST(InfoReport, PolicyCpuUsesNoDevice) {
  const json report = info_json(mixed, 2, "--policy cpu --units 7");
  EXPECT_TRUE(report.at("devices").empty());
  EXPECT_EQ(report.at("ranks")[0].at("absence"), "the policy is cpu");
  EXPECT_EQ(report.at("plan").at("on_devices"), false);
  EXPECT_EQ(report["plan"].at("hosts"),
            json::array({{{"rank", 0}, {"begin", 0}, {"end", 4}}, {{"rank", 1}, {"begin", 4}, {"end", 7}}}));
}

TEST(InfoReport, PolicyCpuLooksForNoDevice) {
  // A look for devices would begin with this text, and refuse it.
  EXPECT_EQ(info("rank0:2xQ200", 1, "--policy cpu").status, 0);
  const json report = info_json(mixed, 2, "--policy cpu");
  for (const auto& rank : report.at("ranks")) {
    EXPECT_TRUE(rank.at("visible").empty());
    EXPECT_GE(rank.at("threads").get<int>(), 1);
  }
}

TEST(InfoReport, TableForAPerson) {
  const auto result = info(mixed, 3, "--units 1000");
  EXPECT_EQ(result.status, 0) << result.err;
  for (const char* part : {"3 ranks on 1 node, 3 devices", "Ranks\n", "Devices\n", "H200", "T4", "GPU-",
                           "Plan of 1000 units", "no GPU because"})
    EXPECT_NE(result.out.find(part), std::string::npos) << part << " in\n" << result.out;
}

/// The lines of `text` that the program wrote: mpirun adds its own.
std::vector<std::string> own_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    if (line.rfind("tessera-info: ", 0) == 0) lines.push_back(line);
  return lines;
}

TEST(InfoReport, MistakesAreOneLineOfOneRank) {
  struct Mistake {
    const char* simulate;
    const char* arguments;
    int status;
  };
  for (const auto& [simulate, arguments, status] :
       {Mistake{"rank7:T4", "--policy gpu", 5}, Mistake{mixed, "--policy warp", 2},
        Mistake{mixed, "--units x", 2}, Mistake{"rank0:2xQ200", "", 2},
        Mistake{mixed, "--units 5 --block 0", 2}}) {
    const auto result = info(simulate, 2, std::string(arguments) + " 2>&1");
    SCOPED_TRACE(std::string(simulate) + " " + arguments);
    EXPECT_EQ(result.status, status) << result.out;
    EXPECT_EQ(own_lines(result.out).size(), 1U) << result.out;
  }
}

TEST(InfoReport, VersionAndHelpOnce) {
  const auto named = info("", 2, "--version");
  EXPECT_EQ(named.status, 0);
  EXPECT_EQ(named.out, std::string("tessera-info ") + version() + "\n");
  const auto help = run(TESSERA_INFO " --help");
  EXPECT_EQ(help.status, 0);
  EXPECT_NE(help.out.find("--allow-sharing"), std::string::npos);
}

}  // namespace
}  // namespace tessera
