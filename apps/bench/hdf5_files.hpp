// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace tessera::bench {

/// Copies a table in HDF5 to another, in chunks of 2^16 rows that go through shuffle and deflate. It and the
/// next throw `tessera::Error(input)` if a file cannot be read or written.
void write_hdf5_chunks(const std::filesystem::path& from, const std::filesystem::path& to);

/// Reads every column of a table whole by the HDF5 library, in the types that they have in the file.
void read_by_hdf5(const std::filesystem::path& path);

/// "1.10.8"
[[nodiscard]] std::string version_of_hdf5();

}  // namespace tessera::bench
