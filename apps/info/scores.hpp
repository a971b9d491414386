// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::info {

/// Scores of all devices by rank, for `Plan::over_devices`.
struct Scores {
  std::vector<std::uint64_t> of_devices;
  std::vector<std::int64_t> rank_offsets{0};
};

/// Parses scores such as "100,50;75;0": ranks separated by `;`, devices by `,`. A rank without devices has an
/// empty text. Throws `Error(usage)` with the rank and the text that is not a score.
[[nodiscard]] Scores parse_scores(std::string_view text);

/// Reads scores from a file with one line per rank, devices separated by `,`; an empty line is a rank without
/// a device. Throws `Error(input)` with the file and, for an invalid score, the line.
[[nodiscard]] Scores read_scores(const std::string& path);

/// Scores from the value of `--scores`: the scores themselves, or "@path".
[[nodiscard]] Scores scores_from(const std::string& option);

}  // namespace tessera::info
