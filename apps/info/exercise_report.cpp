// SPDX-License-Identifier: Apache-2.0
#include "exercise_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "text_table.hpp"

#include "common/text.hpp"

namespace tessera::info {
namespace {

using Json = nlohmann::ordered_json;

struct RateColumn {
  const char* heading;
  const char* key;
  ExerciseRate DeviceExercise::*rate;
};
constexpr std::array<RateColumn, 4> rate_columns{
    {{"to GB/s", "to_device_bytes_per_second", &DeviceExercise::to_device},
     {"from GB/s", "from_device_bytes_per_second", &DeviceExercise::from_device},
     {"memory GB/s", "memory_bytes_per_second", &DeviceExercise::memory},
     {"FP64 Gflop/s", "fp64_operations_per_second", &DeviceExercise::arithmetic}}};

std::string giga(double value) {
  return value > 0 ? fmt::format("{:.1f}", value / 1e9) : "-";
}

bool is_slow(const DeviceExercise& device) {
  return std::ranges::any_of(rate_columns,
                             [&](const auto& column) { return (device.*column.rate).is_slow(); });
}

const char* outcome_of(const DeviceExercise& device) {
  return !device.failure.empty() ? "broken" : is_slow(device) ? "slow" : "in order";
}

std::string name_of(const Inventory& inventory, const InventoryDevice& device) {
  return fmt::format("rank {} ({}) device {} {}", device.rank,
                     inventory.ranks()[static_cast<std::size_t>(device.rank)].hostname, device.index,
                     to_string(device.uuid));
}

std::vector<std::string> headings_of_rates(std::vector<std::string> before) {
  for (const RateColumn& column : rate_columns) before.emplace_back(column.heading);
  return before;
}

/// e.g. "8 devices"; "8 shares" if ranks share a device.
std::string counted_shares(const Inventory& inventory, std::size_t count) {
  return apps::pluralised(count, inventory.is_shared() ? "share" : "device");
}

std::string median_table(const ExercisedJob& job) {
  std::map<std::pair<std::string, int>, std::pair<int, const DeviceExercise*>> kinds;
  for (std::size_t i = 0; i < job.found.devices.size(); ++i) {
    const InventoryDevice& device = job.inventory.devices()[i];
    auto& [count, one] = kinds[{device.name, device.sharers}];
    ++count;
    one = &job.found.devices[i];
  }
  TextTable table(
      headings_of_rates({job.inventory.is_shared() ? "shares" : "devices", "median of", "sharers"}));
  for (const auto& [kind, of_kind] : kinds) {
    std::vector<std::string> cells{std::to_string(of_kind.first), kind.first, std::to_string(kind.second)};
    for (const RateColumn& column : rate_columns)
      cells.push_back(giga((of_kind.second->*column.rate).median));
    table.add(std::move(cells));
  }
  return table.text();
}

std::string device_rows(const ExercisedJob& job, bool every_device) {
  auto headings = headings_of_rates({"rank", "device", "open s"});
  headings.emplace_back("outcome");
  TextTable table(std::move(headings));
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < job.found.devices.size(); ++i) {
    const DeviceExercise& device = job.found.devices[i];
    if (!every_device && device.failure.empty() && !is_slow(device)) {
      ++left_out;
      continue;
    }
    const InventoryDevice& known = job.inventory.devices()[i];
    std::vector<std::string> cells{
        std::to_string(known.rank), std::to_string(known.index),
        device.open_seconds > 0 ? fmt::format("{:.2f}", device.open_seconds) : "-"};
    for (const RateColumn& column : rate_columns) cells.push_back(giga((device.*column.rate).value));
    cells.emplace_back(outcome_of(device));
    table.add(std::move(cells));
  }
  std::string text = left_out < job.found.devices.size() ? table.text() : "";
  if (left_out > 0) text += fmt::format("  in order: {}\n", counted_shares(job.inventory, left_out));
  return text;
}

std::string slow_lines(const ExercisedJob& job) {
  std::string text;
  for (std::size_t i = 0; i < job.found.devices.size(); ++i) {
    for (const RateColumn& column : rate_columns) {
      const ExerciseRate& rate = job.found.devices[i].*column.rate;
      if (rate.is_slow())
        text += fmt::format("  slow: {}: {} {}, the median is {}\n",
                            name_of(job.inventory, job.inventory.devices()[i]), column.heading,
                            giga(rate.value), giga(rate.median));
    }
  }
  return text;
}

std::string sum_line(const ExercisedSum& sum, const std::string& over) {
  if (sum.path.empty()) return fmt::format("  sum over {}: none, as {}\n", over, sum.reason);
  if (!sum.failure.empty()) return fmt::format("  sum over {} by {}: broken\n", over, sum.path);
  const double mib = static_cast<double>(sum.bytes) / (1 << 20);
  return fmt::format("  sum over {} by {}: {:.3g} MiB in {:.3g} ms, {:.3g} GB/s{}\n", over, sum.path, mib,
                     1e3 * sum.seconds, static_cast<double>(sum.bytes) / sum.seconds / 1e9,
                     sum.reason.empty() ? "" : " (" + sum.reason + ")");
}

Json sum_json(const ExercisedSum& sum) {
  const auto text = [](const std::string& value) { return value.empty() ? Json() : Json(value); };
  return {{"path", text(sum.path)},
          {"reason", text(sum.reason)},
          {"failure", text(sum.failure)},
          {"bytes", sum.bytes},
          {"seconds", sum.seconds > 0 && sum.failure.empty() ? Json(sum.seconds) : Json()}};
}

}  // namespace

std::string exercise_table(const ExercisedJob& job, bool every_device) {
  std::string text = "Exercise\n";
  if (!job.found.devices.empty()) text += median_table(job) + device_rows(job, every_device);
  text += sum_line(job.found.device_sum, counted_shares(job.inventory, job.found.devices.size()));
  text += sum_line(job.found.rank_sum, apps::pluralised(job.inventory.ranks().size(), "rank"));
  text += slow_lines(job);
  for (const std::string& failure : failures_of(job)) text += "  broken: " + failure + '\n';
  return text;
}

Json exercise_json(const ExercisedJob& job) {
  Json devices = Json::array();
  for (std::size_t i = 0; i < job.found.devices.size(); ++i) {
    const DeviceExercise& device = job.found.devices[i];
    Json object = {{"rank", job.inventory.devices()[i].rank},
                   {"device", job.inventory.devices()[i].index},
                   {"outcome", outcome_of(device)},
                   {"failure", device.failure.empty() ? Json() : Json(device.failure)},
                   {"open_seconds", device.open_seconds > 0 ? Json(device.open_seconds) : Json()}};
    for (const RateColumn& column : rate_columns) {
      const ExerciseRate& rate = device.*column.rate;
      object[column.key] = rate.value > 0 ? Json{{"value", rate.value}, {"median", rate.median}} : Json();
    }
    devices.push_back(std::move(object));
  }
  Json left_out = Json::array();
  for (const Verdict::Failure& failure : job.found.left_out)
    left_out.push_back({{"rank", failure.rank},
                        {"uuid", failure.uuid},
                        {"stage", failure.stage},
                        {"failure", failure.reason}});
  return {{"devices", std::move(devices)},
          {"left_out", std::move(left_out)},
          {"unreadable", job.found.broken},
          {"sum_over_devices", sum_json(job.found.device_sum)},
          {"sum_over_ranks", sum_json(job.found.rank_sum)}};
}

std::vector<std::string> failures_of(const ExercisedJob& job) {
  std::vector<std::string> failures = job.found.broken;
  for (const Verdict::Failure& failure : job.found.left_out) failures.push_back(to_string(failure));
  for (std::size_t i = 0; i < job.found.devices.size(); ++i)
    if (!job.found.devices[i].failure.empty())
      failures.push_back(name_of(job.inventory, job.inventory.devices()[i]) + ": " +
                         job.found.devices[i].failure);
  for (const ExercisedSum* sum : {&job.found.device_sum, &job.found.rank_sum})
    if (!sum->failure.empty()) failures.push_back("the sum by " + sum->path + ": " + sum->failure);
  return failures;
}

}  // namespace tessera::info
