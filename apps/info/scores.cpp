// SPDX-License-Identifier: Apache-2.0
#include "scores.hpp"

#include <fmt/core.h>
#include <tessera/error.hpp>

#include "common/streams.hpp"
#include "common/text.hpp"

namespace tessera::info {
namespace {

/// `where()` names the rank in error messages.
template <class Where>
void add_rank(Scores& scores, std::string_view devices, ErrorCode code, Where&& where) {
  devices = apps::trimmed(devices);
  if (!devices.empty()) {
    for (const std::string_view part : apps::split(devices, ',')) {
      const auto score = apps::parse_number<std::uint64_t>(apps::trimmed(part));
      if (!score)
        throw Error(code,
                    fmt::format("{}: cannot read the score '{}': give whole numbers from 0 to 2^64 - 1, "
                                "separated by commas",
                                where(), part.substr(0, 40)));
      scores.of_devices.push_back(*score);
    }
  }
  scores.rank_offsets.push_back(static_cast<std::int64_t>(scores.of_devices.size()));
}

/// Maximum size of a score file in bytes: the scores of a million devices need less.
constexpr std::int64_t max_score_bytes = std::int64_t{1} << 28;

}  // namespace

Scores parse_scores(std::string_view text) {
  if (apps::trimmed(text).empty()) throw apps::usage_error("--scores is empty: give scores as '100,50;75;0'");
  Scores scores;
  int rank = 0;
  for (const std::string_view devices : apps::split(text, ';')) {
    add_rank(scores, devices, ErrorCode::usage, [&] { return fmt::format("--scores, rank {}", rank); });
    ++rank;
  }
  return scores;
}

Scores read_scores(const std::string& path) {
  const std::string text = apps::read_text(path, max_score_bytes);
  std::string_view lines = text;
  if (lines.empty()) throw apps::input_error("the score file {} is empty: give one line per rank", path);
  if (lines.back() == '\n') lines.remove_suffix(1);
  Scores scores;
  int line = 0;
  for (const std::string_view devices : apps::split(lines, '\n')) {
    ++line;
    add_rank(scores, devices, ErrorCode::input, [&] { return fmt::format("{}, line {}", path, line); });
  }
  return scores;
}

Scores scores_from(const std::string& option) {
  return option.starts_with('@') ? read_scores(option.substr(1)) : parse_scores(option);
}

}  // namespace tessera::info
