// SPDX-License-Identifier: Apache-2.0
#include "gam/report/run_record.hpp"

#include "base/errors.hpp"
#include "gam/report/plot.hpp"
#include "gam/report/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tessera/error.hpp>
#include <utility>

#include "files/input_file.hpp"
#include "files/json_file.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

using files::JsonField;

constexpr int version = 2;
constexpr const char* kind_of_report = "a run report that tessera-fit wrote";
/// Maximum size of a run report, which has a few hundred bytes per rank.
constexpr std::int64_t max_bytes = std::int64_t{1} << 30;

[[noreturn]] void reject(const std::string& path, const std::string& why) {
  throw base::input_error("{}: {}", path, why);
}

/// Host names by rank. Sets `run.ranks` and `run.nodes`.
std::vector<std::string> hosts_of(const JsonField& ranks, RunRecord& run) {
  std::vector<std::string> hosts;
  std::set<int> nodes;
  for (const JsonField& rank : ranks.elements()) {
    const auto index = static_cast<int>(hosts.size());
    static_cast<void>(rank.at("rank").whole(index, index));
    hosts.push_back(rank.at("host").text());
    nodes.insert(rank.at("node").whole());
  }
  run.ranks = static_cast<int>(hosts.size());
  run.nodes = static_cast<int>(nodes.size());
  return hosts;
}

void set_rows(RunRecord::Part& part, const JsonField& begin, const JsonField& end, std::int64_t rows) {
  part.begin = begin.whole<std::int64_t>(0, rows);
  part.end = end.whole<std::int64_t>(part.begin, rows);
}

/// Device names by rank and number on the rank.
using DeviceNames = std::map<std::pair<std::size_t, int>, std::string>;

DeviceNames devices_of(const JsonField& devices, std::size_t ranks, RunRecord& run) {
  DeviceNames names;
  std::set<std::string> uuids;  // a GPU that ranks share is listed once per rank
  for (const JsonField& device : devices.elements()) {
    names[{device.at("rank").index_below(ranks), device.at("device").whole()}] = device.at("name").text();
    uuids.insert(device.at("uuid").text());
  }
  run.devices = static_cast<int>(uuids.size());
  return names;
}

std::string name_of(const DeviceNames& names, std::size_t rank, const JsonField& device) {
  const auto found = names.find({rank, device.whole()});
  if (found == names.end()) device.refuse("is not a device of its rank");
  const auto is_of_rank = [&](const auto& one) { return one.first.first == rank; };
  const bool several = std::count_if(names.begin(), names.end(), is_of_rank) > 1;
  return several ? fmt::format("{}, no. {}", found->second, device.whole()) : found->second;
}

RunRecord from_json(const JsonField& json) {
  RunRecord run;
  run.model = json.at("model").text();
  const JsonField verdict = json.at("verdict");
  run.verdict = verdict.at("text").text();
  run.threads = json.at("threads_per_rank").whole();
  const std::vector<std::string> hosts = hosts_of(json.at("ranks"), run);
  const DeviceNames names = devices_of(json.at("devices"), hosts.size(), run);

  const JsonField plan = json.at("plan");
  run.rows = plan.at("units").whole<std::int64_t>();
  run.block = plan.at("block").whole<std::int64_t>();
  if (verdict.at("ran").text() == "devices") {
    for (const JsonField& tile : plan.at("tiles").elements()) {
      const std::size_t rank = tile.at("rank").index_below(hosts.size());
      RunRecord::Part part{static_cast<int>(rank), hosts[rank], name_of(names, rank, tile.at("device")), 0,
                           0};
      set_rows(part, tile.at("begin"), tile.at("end"), run.rows);
      run.parts.push_back(std::move(part));
    }
  } else {
    const std::vector<JsonField> ranges = plan.at("rank_ranges").elements(hosts.size());
    for (std::size_t rank = 0; rank < ranges.size(); ++rank) {
      RunRecord::Part part{static_cast<int>(rank), hosts[rank], "CPU", 0, 0};
      const std::vector<JsonField> ends = ranges[rank].elements(2);
      set_rows(part, ends[0], ends[1], run.rows);
      if (part.begin < part.end) run.parts.push_back(std::move(part));
    }
  }
  for (const JsonField& phase : json.at("phases").elements()) {
    const double seconds = phase.at("seconds").number();
    if (!(seconds >= 0 && seconds < 1e12)) phase.at("seconds").refuse(fmt::format("is {:g}", seconds));
    run.phases.push_back({phase.at("phase").text(), seconds, phase.at("bytes").whole<std::int64_t>()});
  }
  return run;
}

}  // namespace

RunRecord load_run_record(const std::string& path) {
  const files::JsonFile file = files::JsonFile::parsed(files::read_text(path, max_bytes), path,
                                                       kind_of_report, "restore it, or fit the model again");
  const JsonField json = file.root();
  const auto not_it = [&] { reject(path, fmt::format("is not {}", kind_of_report)); };
  try {
    if (json.at("format").text() != "tessera-fit run") not_it();
  } catch (const Error&) {
    not_it();
  }
  const int found = json.at("version").whole();
  if (found > version)
    reject(path, fmt::format("the file has format version {}, but this version of tessera-fit reads version "
                             "{}: use a newer tessera-fit",
                             found, version));
  if (found < version)
    reject(path,
           "the file was written by an older version of tessera-fit and does not name its model: fit the "
           "model again");
  return from_json(json);
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
    const auto row = static_cast<double>(i);
    bars.push_back({begin, begin + run.phases[i].seconds, row + 0.8, row + 0.2});
    begin += run.phases[i].seconds;
  }
  plot.rectangles(bars, "part");
  return plot.svg();
}

}  // namespace TESSERA_NAMESPACE::gam
