// SPDX-License-Identifier: Apache-2.0
#include "fit_state.hpp"

#include "byte_source.hpp"
#include "custom_family.hpp"
#include "fit.hpp"

#include <tessera/error.hpp>
#include <tessera/version.hpp>

#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

namespace tessera::fit {
namespace {

/// So much of a large file is looked at, in so many pieces from its beginning to its end.
constexpr std::int64_t sample_bytes = std::int64_t{1} << 16;
constexpr std::int64_t samples = 64;

/// FNV-1a over pieces of the file, all of it if it is small.
std::uint64_t hash_of_samples(const std::string& path, std::int64_t file_bytes) {
  const auto source = open_plain(path);
  std::vector<char> buffer(static_cast<std::size_t>(sample_bytes));
  std::uint64_t hash = 0xcbf29ce484222325u;
  const std::int64_t last = std::max<std::int64_t>(0, file_bytes - sample_bytes);
  for (std::int64_t i = 0; i < samples; ++i) {
    // Without a product that a file of exabytes would overflow.
    source->seek(std::min(last, last / (samples - 1) * i + last % (samples - 1) * i / (samples - 1)));
    const std::size_t got = source->read(buffer);
    for (std::size_t at = 0; at < got; ++at)
      hash = (hash ^ static_cast<unsigned char>(buffer[at])) * 0x100000001b3u;
    if (last == 0) break;
  }
  return hash;
}

}  // namespace

std::string to_text(const FitState& state) {
  auto past = nlohmann::ordered_json::array();
  for (const PastStep& one : state.course.past) past.push_back({{"coef", one.coef}, {"step", one.step}});
  return nlohmann::ordered_json{{"iteration", state.iteration},
                                {"deviance", state.deviance},
                                {"place", state.place},
                                {"fallback", state.fallback},
                                {"log_sp", state.log_sp},
                                {"coef", state.coef},
                                {"past", past},
                                {"global", state.course.search == Search::global},
                                {"returns", state.course.returns}}
      .dump();
}

FitState state_from(std::string_view text) {
  try {
    const auto json = nlohmann::json::parse(text);
    FitState state;
    json.at("iteration").get_to(state.iteration);
    json.at("deviance").get_to(state.deviance);
    json.at("place").get_to(state.place);
    json.at("fallback").get_to(state.fallback);
    json.at("log_sp").get_to(state.log_sp);
    json.at("coef").get_to(state.coef);
    for (const auto& one : json.at("past")) {
      PastStep& step = state.course.past.emplace_back();
      one.at("coef").get_to(step.coef);
      one.at("step").get_to(step.step);
    }
    state.course.search = json.at("global").get<bool>() ? Search::global : Search::local;
    json.at("returns").get_to(state.course.returns);
    return state;
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorCode::input, "the checkpoint holds no state of a fit: remove it");
  }
}

std::string place_of(const Job& job) {
  if (job.on_host()) return "the CPU";
  std::set<std::string> kinds;
  for (const InventoryDevice& device : job.inventory().devices()) {
    kinds.insert(fmt::format("{} ({}.{})", device.name, device.capability.major, device.capability.minor));
  }
  return fmt::format("{}", fmt::join(kinds, ", "));
}

Fingerprint fingerprint_of(const std::string& data, const Formula& formula, const FitOptions& options) {
  struct stat status {};
  if (::stat(data.c_str(), &status) != 0)
    throw Error(ErrorCode::input,
                fmt::format("{}: cannot be read: {}", data, std::generic_category().message(errno)));
  std::string knots;
  for (const auto& [variable, values] : options.knots)
    knots += fmt::format("{}{}={}", knots.empty() ? "" : " ", variable, fmt::join(values, ","));
  const AnyFamily& family = options.family;
  return {{"program", fmt::format("tessera-fit {}", tessera::version)},
          {"formula", formula.text},
          {"family", family.custom ? to_toml(*family.custom) : std::string(family.name())},
          {"weights", options.weights},
          {"knots", knots},
          {"coordinates of the numbers", "centred and scaled"},
          {"missing values", fmt::format("{}", fmt::join(options.table.missing, ","))},
          {"factors", fmt::format("{}", fmt::join(options.table.factors, ","))},
          {"numeric columns", fmt::format("{}", fmt::join(options.table.numbers, ","))},
          {"block rows", std::to_string(options.block_rows)},
          {"size of the data", fmt::format("{} bytes", status.st_size)},
          {"time of the data", fmt::format("{}.{:09d} s", status.st_mtim.tv_sec, status.st_mtim.tv_nsec)},
          {"sample of the data", fmt::format("{:016x}", hash_of_samples(data, status.st_size))}};
}

}  // namespace tessera::fit
