// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/host_team.hpp>
#include <tessera/partition/plan.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::bench {

/// A table of made-up fields in CSV. A row's fields depend on the row alone.
struct SimulatedText {
  std::string header;
  void (*append_row)(std::string& text, std::int64_t row);

  [[nodiscard]] std::string lines(Range rows) const;
};

/// "digits": 8 columns of numbers of 15 to 17 digits. "decimals": 12 columns of numbers of four decimals.
/// "mix": those, whole numbers, missing values, and two factors in quotes.
[[nodiscard]] std::optional<SimulatedText> simulated_text(std::string_view name);

/// Writes as many rows as have about `bytes`, by all threads of the team. All of these throw
/// `tessera::Error(input)` if a file cannot be written.
void write_csv(const SimulatedText& table, std::int64_t bytes, const std::filesystem::path& path,
               HostTeam& team);

/// Compresses a file as gzip does: one stream.
void write_gzip(const std::filesystem::path& plain, const std::filesystem::path& packed);
/// The same by blocks, each a gzip member that tells its size, as bgzip (of HTSlib) has them.
void write_bgzip(const std::filesystem::path& plain, const std::filesystem::path& packed, HostTeam& team);

}  // namespace tessera::bench
