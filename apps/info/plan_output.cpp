// SPDX-License-Identifier: Apache-2.0
#include "plan_output.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "text_table.hpp"

namespace tessera::info {
namespace {

template <class Write>
void for_each_host(const Plan& plan, Write&& write) {
  for (int r = 0; r < plan.ranks(); ++r) write(r, plan.range_of(r));
}

}  // namespace

std::string plan_table(const Plan& plan) {
  std::string out = fmt::format("Plan of {} units in blocks of {}{}\n", plan.units(), plan.block(),
                                plan.on_devices() ? "" : ", over the CPUs of all ranks: there is no device");
  TextTable table({"rank", "device", "begin", "end", "units"});
  const auto add = [&](int rank, std::string device, Range range) {
    table.add({std::to_string(rank), std::move(device), std::to_string(range.begin),
               std::to_string(range.end), std::to_string(range.size())});
  };
  for (const auto& tile : plan.tiles()) add(tile.rank, std::to_string(tile.device), tile.units);
  if (!plan.on_devices()) for_each_host(plan, [&](int rank, Range range) { add(rank, "-", range); });
  return out + table.text();
}

std::string plan_json(const Plan& plan) {
  std::string out;
  out.reserve(128 + plan.tiles().size() * 80);
  const auto to = std::back_inserter(out);
  fmt::format_to(to, R"({{"units":{},"block":{},"on_devices":{},"tiles":[)", plan.units(), plan.block(),
                 plan.on_devices());
  std::string_view separator = "\n";
  for (const auto& tile : plan.tiles()) {
    fmt::format_to(to, R"({}{{"rank":{},"device":{},"begin":{},"end":{}}})", separator, tile.rank,
                   tile.device, tile.units.begin, tile.units.end);
    separator = ",\n";
  }
  out += ']';
  if (!plan.on_devices()) {
    out += R"(,"hosts":[)";
    separator = "\n";
    for_each_host(plan, [&](int rank, Range range) {
      fmt::format_to(to, R"({}{{"rank":{},"begin":{},"end":{}}})", separator, rank, range.begin, range.end);
      separator = ",\n";
    });
    out += ']';
  }
  out += "}\n";
  return out;
}

}  // namespace tessera::info
