// SPDX-License-Identifier: Apache-2.0
#include "measurement.hpp"

#include <sys/resource.h>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tessera/version.hpp>
#include <thread>

#include "base/number.hpp"
#include "base/pluralised.hpp"
#include "files/standard_output.hpp"

namespace tessera::bench {
namespace {

std::vector<double> sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

/// The value of `key` in a text file with lines "key : value".
std::string look_up(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, key.size(), key) != 0) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return {};
}

}  // namespace

double Measurement::minimum() const {
  return *std::min_element(values.begin(), values.end());
}
double Measurement::maximum() const {
  return *std::max_element(values.begin(), values.end());
}
double Measurement::median() const {
  const std::vector<double> ordered = sorted(values);
  const std::size_t half = ordered.size() / 2;
  return ordered.size() % 2 == 1 ? ordered[half] : (ordered[half - 1] + ordered[half]) / 2;
}

std::string machine_of(const Inventory& inventory) {
  std::string model = look_up("/proc/cpuinfo", "model name");
  if (model.empty()) model = "unknown processor";
  std::string machine = fmt::format("{} x {}", std::thread::hardware_concurrency(), model);
  std::map<std::string, int> devices;
  for (const auto& device : inventory.devices()) ++devices[device.name];
  for (const auto& [name, count] : devices) machine += fmt::format("; {} x {}", count, name);
  return machine + fmt::format("; {}, {}", base::pluralised(inventory.nodes(), "node"),
                               base::pluralised(inventory.ranks().size(), "rank"));
}

void print_table(const std::vector<Measurement>& measurements, const std::string& machine) {
  const auto width_of = [&](std::string Measurement::*column, std::size_t least) {
    for (const Measurement& m : measurements) least = std::max(least, (m.*column).size());
    return least + 2;
  };
  const std::size_t suite = width_of(&Measurement::suite, 6);
  const std::size_t name = width_of(&Measurement::name, 24);
  const std::size_t what = width_of(&Measurement::what, 28);
  std::string text = fmt::format("tessera-bench {} ({}) on {}\n", version(), TESSERA_COMMIT, machine);
  const auto to = std::back_inserter(text);
  fmt::format_to(to, "{:<{}}{:<{}}{:<{}}{:>10}{:>10}{:>10}  {}\n", "suite", suite, "case", name, "what", what,
                 "minimum", "median", "maximum", "unit");
  for (const Measurement& m : measurements) {
    fmt::format_to(to, "{:<{}}{:<{}}{:<{}}{:>10.4g}{:>10.4g}{:>10.4g}  {}\n", m.suite, suite, m.name, name,
                   m.what, what, m.minimum(), m.median(), m.maximum(), m.unit);
  }
  files::write_output(text);
}

void print_json_lines(const std::vector<Measurement>& measurements, const std::string& machine) {
  for (const Measurement& m : measurements) {
    const nlohmann::ordered_json line = {
        {"suite", m.suite},     {"case", m.name},          {"what", m.what},
        {"unit", m.unit},       {"runs", m.values.size()}, {"minimum", m.minimum()},
        {"median", m.median()}, {"maximum", m.maximum()},  {"machine", machine},
        {"version", version()}, {"commit", TESSERA_COMMIT}};
    files::write_data(line.dump(-1, ' ', true) + '\n');
  }
}

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double peak_resident_bytes() {
  const std::string text = look_up("/proc/self/status", "VmHWM");
  std::string_view kilobytes = text;
  return 1024 * base::take_number<double>(kilobytes).value_or(0);
}

void reset_peak_resident() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

}  // namespace tessera::bench
