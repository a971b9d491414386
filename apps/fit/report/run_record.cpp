// SPDX-License-Identifier: Apache-2.0
#include "report/run_record.hpp"

#include "output.hpp"
#include "report/plot.hpp"
#include "report/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tessera/error.hpp>
#include <utility>

namespace tessera::fit {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::input, fmt::format("{}: {}", path, why));
}

RunRecord from_json(const Json& json) {
  RunRecord run;
  run.verdict = json.at("verdict").at("text").get<std::string>();
  run.threads = json.at("threads_per_rank").get<int>();
  std::map<int, std::string> hosts;
  std::set<int> nodes;
  for (const Json& rank : json.at("ranks")) {
    hosts[rank.at("rank").get<int>()] = rank.at("host").get<std::string>();
    nodes.insert(rank.at("node").get<int>());
  }
  run.ranks = static_cast<int>(hosts.size());
  run.nodes = static_cast<int>(nodes.size());
  std::map<std::pair<int, int>, std::string> names;
  std::map<int, int> counts;
  for (const Json& device : json.at("devices")) {
    const int rank = device.at("rank").get<int>();
    ++counts[rank];
    names[{rank, device.at("device").get<int>()}] = device.at("name").get<std::string>();
  }
  run.devices = static_cast<int>(names.size());

  const Json& plan = json.at("plan");
  run.rows = plan.at("units").get<std::int64_t>();
  run.block = plan.at("block").get<std::int64_t>();
  if (json.at("verdict").at("ran").get<std::string>() == "devices") {
    for (const Json& tile : plan.at("tiles")) {
      const int rank = tile.at("rank").get<int>();
      const int device = tile.at("device").get<int>();
      std::string name = names[{rank, device}];
      if (counts[rank] > 1) name += fmt::format(", no. {}", device);
      run.parts.push_back({rank, hosts[rank], std::move(name), tile.at("begin").get<std::int64_t>(),
                           tile.at("end").get<std::int64_t>()});
    }
  } else {
    int rank = 0;
    for (const Json& range : plan.at("rank_ranges")) {
      const RunRecord::Part part{rank, hosts[rank], "CPU", range.at(0).get<std::int64_t>(),
                                 range.at(1).get<std::int64_t>()};
      if (part.begin < part.end) run.parts.push_back(part);
      ++rank;
    }
  }
  for (const Json& phase : json.at("phases")) {
    run.phases.push_back({phase.at("phase").get<std::string>(), phase.at("seconds").get<double>(),
                          phase.at("bytes").get<std::int64_t>()});
  }
  return run;
}

}  // namespace

RunRecord load_run_record(const std::string& path) {
  const Json json = Json::parse(read_file(path), nullptr, false);
  if (json.is_discarded() || !json.is_object() || json.value("format", "") != "tessera-fit run") {
    refuse(path, "is not a run report that tessera-fit wrote");
  }
  if (json.value("version", 0) > 1) refuse(path, "was written by a newer tessera-fit");
  try {
    return from_json(json);
  } catch (const Json::exception& fault) {
    refuse(path, fmt::format("is damaged: {}", fault.what()));
  }
}

std::string plan_svg(const RunRecord& run) {
  const auto rows = static_cast<double>(std::max<std::int64_t>(run.rows, 1));
  Plot plot({"Who computed which rows", fmt::format("{} rows in {} parts; the table below lists them.",
                                                    count_text(run.rows), run.parts.size())},
            {"row", {0, rows}}, {{}, {}, {""}}, {1000, 84}, 30);
  std::array<std::vector<PlotRectangle>, 2> shades;
  for (const RunRecord::Part& part : run.parts) {
    shades[static_cast<std::size_t>(part.rank % 2)].push_back(
        {static_cast<double>(part.begin), static_cast<double>(part.end), 0.85, 0.15});
  }
  if (!shades[0].empty()) plot.rectangles(shades[0], "part");
  if (!shades[1].empty()) plot.rectangles(shades[1], "part other");
  for (const RunRecord::Part& part : run.parts) {
    // A text where there is room for it.
    const std::string name = fmt::format("rank {}", part.rank);
    const double share = static_cast<double>(part.end - part.begin) / rows;
    if (share * 950 > 7 * static_cast<double>(name.size()) + 12) {
      plot.label(static_cast<double>(part.begin) + rows * 6 / 950, 0.62, name, "inside");
    }
  }
  return plot.svg();
}

std::string timeline_svg(const RunRecord& run) {
  double total = 0;
  PlotAxis phases{{}, {}, {}};
  for (const RunRecord::Phase& phase : run.phases) {
    total += phase.seconds;
    phases.categories.push_back(phase.name);
  }
  Plot plot({"Time of the run", fmt::format("{} phases, {} s in all; the table below lists them.",
                                            run.phases.size(), number_text(total))},
            {"seconds", {0, total > 0 ? total : 1}}, std::move(phases),
            {1000, 62 + 20 * static_cast<double>(run.phases.size())}, 30);
  double begin = 0;
  std::vector<PlotRectangle> bars;
  for (std::size_t i = 0; i < run.phases.size(); ++i) {
    const double row = static_cast<double>(i);
    bars.push_back({begin, begin + run.phases[i].seconds, row + 0.8, row + 0.2});
    begin += run.phases[i].seconds;
  }
  plot.rectangles(bars, "part");
  return plot.svg();
}

}  // namespace tessera::fit
