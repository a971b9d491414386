// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <tessera/version.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "run_program.hpp"
#include "support/errors.hpp"

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
  const auto result = successful(info(simulate, ranks, "--json " + arguments));
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
  // A probe for devices would parse this text first, and refuse it.
  EXPECT_EQ(info("rank0:2xQ200", 1, "--policy cpu").status, 0);
  const json report = info_json(mixed, 2, "--policy cpu");
  for (const auto& rank : report.at("ranks")) {
    EXPECT_TRUE(rank.at("visible").empty());
    EXPECT_GE(rank.at("threads").get<int>(), 1);
  }
}

TEST(InfoReport, TableForAPerson) {
  const auto result = successful(info(mixed, 3, "--units 1000"));
  for (const char* part : {"3 ranks on 1 node, 3 SIMULATED devices", "Ranks\n", "Devices\n", "H200", "T4",
                           "GPU-", "Plan of 1000 units", "no GPU because"})
    EXPECT_NE(result.out.find(part), std::string::npos) << part << " in\n" << result.out;
}

/// The lines of `text` from the program: mpirun adds others.
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

TEST(InfoReport, TellsWhatItRunsWith) {
  const json report = info_json(mixed, 3, "");
  int of_mpi = 0;
  for (const auto& software : report.at("software")) {
    if (software.at("what") != "MPI") continue;
    ++of_mpi;
    EXPECT_EQ(software.at("ranks"), json::array({0, 1, 2}));
    EXPECT_NE(software.at("version").get<std::string>().find_first_of("0123456789"), std::string::npos);
  }
  EXPECT_EQ(of_mpi, 1) << "all ranks have the same";
  EXPECT_NE(info(mixed, 2, "").out.find("MPI_THREAD_FUNNELED"), std::string::npos);
}

TEST(InfoReport, StartsMpiForALauncherOrWhereItIsAskedFor) {
  const ProgramResult alone = run(TESSERA_INFO);
  EXPECT_EQ(alone.status, 0) << alone.err;
  EXPECT_NE(alone.out.find("MPI is not started"), std::string::npos) << alone.out;
  const ProgramResult asked = run(TESSERA_INFO " --mpi");
  EXPECT_EQ(asked.status, 0) << asked.err;
  EXPECT_NE(asked.out.find("MPI_THREAD_FUNNELED"), std::string::npos) << asked.out;
}

TEST(InfoReport, SaysThatDevicesAreSimulated) {
  EXPECT_NE(info(mixed, 3, "").out.find(", 3 SIMULATED devices;"), std::string::npos);
}

TEST(InfoReport, ManyRanksOnOneScreenUnlessEachIsWanted) {
  const auto of_ranks = [](const std::string& arguments) {
    return run("TESSERA_SIMULATE='*:H200' " TESSERA_MPIRUN " 33 " TESSERA_INFO " " + arguments);
  };
  const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  const auto summary = successful(of_ranks("--exercise"));
  EXPECT_LE(lines(summary.out), 24) << summary.out;
  EXPECT_NE(summary.out.find("33 x Simulated NVIDIA H200"), std::string::npos) << summary.out;
  EXPECT_NE(summary.out.find("in order: 33 devices"), std::string::npos) << summary.out;
  EXPECT_GE(lines(of_ranks("--per-rank").out), 4 * 33);
}

TEST(InfoExercise, FindsNothingWhereNothingIsWrong) {
  const json exercise = info_json(mixed, 3, "--exercise").at("exercise");
  ASSERT_EQ(exercise.at("devices").size(), 3U);
  for (const auto& device : exercise.at("devices")) {
    EXPECT_EQ(device.at("outcome"), "in order");
    EXPECT_TRUE(device.at("failure").is_null());
    EXPECT_TRUE(device.at("fp64_operations_per_second").is_null()) << "nothing was measured";
  }
  EXPECT_EQ(exercise.at("sum_over_devices").at("path"), "the hosts");
  EXPECT_GT(exercise.at("sum_over_ranks").at("seconds").get<double>(), 0);
}

TEST(InfoExercise, OfAJobOnTheCpuIsTheSumOfItsRanks) {
  const auto result = info(mixed, 2, "--exercise --policy cpu");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("sum over 2 ranks by MPI: 4 MiB in "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find(" GB/s\n"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("none, as the job has no device"), std::string::npos) << result.out;
}

#ifdef TESSERA_HAVE_FAULTS
TEST(InfoExercise, OfOneRankHasNoRateOfMpi) {
  const auto result = info(mixed, 1, "--exercise --policy cpu");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "sum over 1 rank: none, as there is one rank\n"));
}

/// The exercise of two equal devices on each of two ranks.
ProgramResult exercise_with(const std::string& faults) {
  return run("TESSERA_FAULT='" + faults +
             "' TESSERA_SIMULATE='*:2xH200' " TESSERA_MPIRUN " 2 " TESSERA_INFO " --exercise");
}

TEST(InfoExercise, NamesADeviceWhoseResultIsWrong) {
  const auto result = exercise_with("wrong@rank1.device0");
  EXPECT_EQ(result.status, 6);
  const auto lines = own_lines(result.err);
  ASSERT_EQ(lines.size(), 1U) << result.err;
  for (const char* part : {"rank 1 (", ") device 0 GPU-", ": check: 1 of 1024 results are wrong"})
    EXPECT_NE(lines[0].find(part), std::string::npos) << part << " in " << lines[0];
  EXPECT_NE(result.out.find("INJECTED FAULTS: wrong@rank1.device0\n"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("broken: rank 1 ("), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("none, as a device has failed"), std::string::npos) << result.out;
}

TEST(InfoExercise, NamesASlowDeviceBesideTheMedian) {
  const auto result = exercise_with("slow@rank0.device1");
  EXPECT_EQ(result.status, 0) << "it is right, after all";
  EXPECT_NE(result.out.find("slow: rank 0 ("), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("memory GB/s 1229.2, the median is 4916.7"), std::string::npos) << result.out;
}

TEST(InfoExercise, NamesADeviceThatCannotBeUsedAndExercisesTheOthers) {
  const auto result = exercise_with("claim@rank1.device1");
  EXPECT_EQ(result.status, 6);
  EXPECT_NE(result.out.find("sum over 3 devices by the hosts: 0"), std::string::npos) << result.out;
  const auto lines = own_lines(result.err);
  ASSERT_EQ(lines.size(), 1U) << result.err;
  EXPECT_NE(lines[0].find("device 1 GPU-"), std::string::npos) << lines[0];
}
#endif

TEST(InfoReport, VersionAndHelpOnce) {
  const auto named = successful(info("", 2, "--version"));
  EXPECT_EQ(named.out, std::string("tessera-info ") + version() + "\n");
  const auto help = run(TESSERA_INFO " --help");
  EXPECT_EQ(help.status, 0);
  EXPECT_NE(help.out.find("--allow-sharing"), std::string::npos);
}

}  // namespace
}  // namespace tessera
