// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace tessera::bench {

/// Writes a CSV table of about so many bytes, whose fields are made up from their row alone. "digits": 8
/// columns of numbers of 15 to 17 digits. "decimals": 12 columns of numbers of four decimals. "mix": those,
/// whole numbers, missing values, and two factors in quotes. All of these throw `tessera::Error(input)` if a
/// file cannot be written.
void write_csv(const std::string& table, std::int64_t bytes, const std::filesystem::path& path);

/// Compresses a file as gzip does: one stream.
void write_gzip(const std::filesystem::path& plain, const std::filesystem::path& packed);
/// The same by blocks, each a gzip member that tells its size, as bgzip (of HTSlib) has them.
void write_bgzip(const std::filesystem::path& plain, const std::filesystem::path& packed);

}  // namespace tessera::bench
