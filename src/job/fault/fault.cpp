// SPDX-License-Identifier: Apache-2.0
#include "job/fault/fault.hpp"

#include "base/number.hpp"
#include "base/text.hpp"

#include <tessera/error.hpp>
#include <tessera/job/fault_points.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <utility>

namespace TESSERA_NAMESPACE {

std::string active_fault_points() {
#ifdef TESSERA_HAVE_FAULTS
  if (const char* text = std::getenv("TESSERA_FAULT")) return text;
#endif
  return {};
}

}  // namespace TESSERA_NAMESPACE

namespace tessera::fault {
namespace {

constexpr std::array<std::pair<std::string_view, Stage>, 19> stages = {
    {{"probe", Stage::probe},
     {"claim", Stage::claim},
     {"score", Stage::score},
     {"bind", Stage::bind},
     {"allocate", Stage::allocate},
     {"throw", Stage::throwing},
     {"lost", Stage::lost},
     {"fail", Stage::failing},
     {"nccl", Stage::nccl},
     {"wrong", Stage::wrong},
     {"slow", Stage::slow},
     {"vote-late", Stage::vote_late},
     {"stop", Stage::stop},
     {"signal", Stage::signal},
     {"kill", Stage::kill},
     {"checkpoint-write", Stage::checkpoint_write},
     {"checkpoint-swap", Stage::checkpoint_swap},
     {"checkpoint-full", Stage::checkpoint_full},
     {"checkpoint-step", Stage::checkpoint_step}}};

std::string names_of_stages() {
  std::string names;
  for (const auto& [name, stage] : stages) names.append(names.empty() ? "" : ", ").append(name);
  return names;
}

bool skip(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<int> take_number(std::string_view& text) {
  const auto number = base::take_number<int>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

std::optional<Point> parse_point(std::string_view text) {
  const std::size_t at = text.find('@');
  const auto* const named =
      std::ranges::find(stages, text.substr(0, at), &decltype(stages)::value_type::first);
  if (at == std::string_view::npos || named == stages.end()) return std::nullopt;
  Point point{.stage = named->second, .rank = {}, .device = {}, .pass = {}};
  text.remove_prefix(at + 1);
  if (!skip(text, "rank")) return std::nullopt;
  if (!skip(text, "*") && !(point.rank = take_number(text))) return std::nullopt;
  if (skip(text, ".device") && !(point.device = take_number(text))) return std::nullopt;
  if (skip(text, ":pass") && !(point.pass = take_number(text))) return std::nullopt;
  return text.empty() ? std::optional(point) : std::nullopt;
}

}  // namespace

std::string_view to_string(Stage stage) {
  return std::ranges::find(stages, stage, &decltype(stages)::value_type::second)->first;
}

std::vector<Point> parse(std::string_view text) {
  std::vector<Point> points;
  if (base::trimmed(text).empty()) return points;
  for (const std::string_view part : base::split(text, ',')) {
    const std::string_view entry = base::trimmed(part);
    const std::optional<Point> point = parse_point(entry);
    if (!point)
      throw Error(ErrorCode::usage,
                  "TESSERA_FAULT: cannot read \"" + std::string(entry) +
                      "\": an entry must be stage@rankR[.deviceD][:passN], where the stage is one of " +
                      names_of_stages());
    points.push_back(*point);
  }
  return points;
}

Faults::Faults(std::vector<Point> points, int rank) : points_(std::move(points)) {
  std::erase_if(points_, [&](const Point& point) { return point.rank && *point.rank != rank; });
}

Faults Faults::from_environment(int rank) {
  return {parse(active_fault_points()), rank};
}

bool Faults::hit(Stage stage, std::optional<int> device, int pass) const noexcept {
  return std::ranges::any_of(points_, [&](const Point& point) {
    return point.stage == stage && (!point.device || !device || point.device == device) &&
           point.pass.value_or(pass) == pass;
  });
}

void Faults::throw_if_hit(Stage stage, int device, int pass) const {
  if (hit(stage, device, pass)) throw Injected("fault point \"" + std::string(to_string(stage)) + '"');
}

}  // namespace tessera::fault
