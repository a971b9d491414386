// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace tessera::bench {

/// Writes a CSV table of about this many bytes, with pseudo-random fields. "digits": 8 columns of numbers of
/// 15 to 17 digits. "decimals": 12 columns of numbers of four decimals. "mix": those, whole numbers, missing
/// values, and two quoted factors. The functions here throw `tessera::Error(input)` if a file cannot be
/// written.
void write_csv(const std::string& table, std::int64_t bytes, const std::filesystem::path& path);

/// Compresses a file into one gzip stream.
void write_gzip(const std::filesystem::path& plain, const std::filesystem::path& packed);
/// Compresses a file into blocks as bgzip (of HTSlib) does: each is a gzip member that contains its size.
void write_bgzip(const std::filesystem::path& plain, const std::filesystem::path& packed);

}  // namespace tessera::bench
