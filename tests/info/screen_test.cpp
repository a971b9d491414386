// SPDX-License-Identifier: Apache-2.0
// The report of a job larger than the tests' machines: 1,000 ranks on 125 nodes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "info/exercise_report.hpp"
#include "info/report.hpp"

namespace tessera::info {
namespace {

constexpr int nodes = 125;
constexpr int ranks_of_node = 8;
constexpr int ranks = nodes * ranks_of_node;

/// Every rank drives one H200; the middle node also has ranks without a device.
Inventory large_inventory(int without_gpu) {
  std::vector<InventoryRank> all;
  std::vector<InventoryDevice> devices;
  for (int r = 0; r < ranks; ++r) {
    InventoryRank rank;
    rank.rank = r;
    rank.node = r / ranks_of_node;
    rank.hostname = "node" + std::to_string(100 + rank.node);
    rank.allowed_cores = rank.allowed_threads = 16;
    if (rank.node == nodes / 2 && r % ranks_of_node < without_gpu) rank.absence = "the driver is not loaded";
    all.push_back(rank);
    if (!rank.absence.empty()) continue;
    InventoryDevice device;
    device.rank = r;
    device.name = "NVIDIA H200";
    device.uuid.bytes[0] = static_cast<std::uint8_t>(r / 256);
    device.uuid.bytes[1] = static_cast<std::uint8_t>(r % 256);
    device.score = 1000;
    devices.push_back(device);
  }
  return {std::move(all), std::move(devices)};
}

Survey large_survey(int without_gpu = 0) {
  Survey survey;
  survey.inventory = large_inventory(without_gpu);
  survey.around.resize(ranks);
  for (Surroundings& rank : survey.around) rank.threads.count = 16;
  survey.details.resize(survey.inventory.devices().size());
  std::vector<int> all;
  for (int r = 0; r < ranks; ++r) all.push_back(r);
  survey.software.push_back({"MPI", "Open MPI v4.1.6", all});
  return survey;
}

ExercisedJob large_exercise() {
  ExercisedJob job{large_inventory(0), {}};
  job.found.devices.resize(job.inventory.devices().size());
  for (DeviceExercise& device : job.found.devices)
    device.memory = device.to_device = device.from_device = device.arithmetic = {1e12, 1e12};
  job.found.device_sum = {.path = "NCCL", .reason = {}, .failure = {}, .bytes = 1 << 20, .seconds = 1e-3};
  job.found.rank_sum = {.path = "MPI", .reason = {}, .failure = {}, .bytes = 1 << 20, .seconds = 1e-3};
  return job;
}

auto lines_of(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
}

TEST(InfoScreen, ThousandRanksFitOne) {
  const std::string report = table_report(large_survey()) + exercise_table(large_exercise(), false);
  EXPECT_LE(lines_of(report), 24) << report;
  expect_in(report, "1000 ranks on 125 nodes, 1000 devices");
  expect_in(report, "8 x NVIDIA H200");
  expect_in(report, "in order: 1000 devices");
}

TEST(InfoScreen, WhatDiffersIsNamed) {
  Survey survey = large_survey(2);
  survey.details[500].condition.uncorrected_errors = 3;
  ExercisedJob job = large_exercise();
  job.found.devices[333].memory.value = 0.5e12;
  job.found.devices[777].failure = "kernel: a result is wrong";
  const std::string report = table_report(survey) + exercise_table(job, false);
  EXPECT_LE(lines_of(report), 40) << report;
  expect_in(report, "2 x the driver is not loaded");
  expect_in(report, "node162");
  expect_in(report, "needs a reset, or a repair");
  expect_in(report, "slow: rank 333 (node141)");
  expect_in(report, "rank 777 (node197)");
  expect_in(report, "in order: 998 devices");
}

}  // namespace
}  // namespace tessera::info
