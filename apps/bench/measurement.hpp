// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/inventory.hpp>

#include <string>
#include <vector>

namespace tessera::bench {

/// Some runs of one thing, in one unit.
struct Measurement {
  std::string suite;  ///< "fit"
  std::string name;   ///< "G4, 1000000 rows"
  std::string what;   ///< "tessera", "bam", "ratio", …
  std::string unit;   ///< "s", "us", "MB", "MB/s" or "1"
  std::vector<double> values;

  [[nodiscard]] double minimum() const;
  [[nodiscard]] double median() const;
  [[nodiscard]] double maximum() const;
};

/// What a figure depends on: "2 x Intel(R) Xeon(R) …; 8 x NVIDIA H200; 4 ranks".
[[nodiscard]] std::string machine_of(const Inventory& inventory);

/// A table that a person reads, or one line of JSON a measurement, each with machine and commit.
void print_table(const std::vector<Measurement>& measurements, const std::string& machine);
void print_json_lines(const std::vector<Measurement>& measurements, const std::string& machine);

/// CPU seconds used by this process.
[[nodiscard]] double processor_seconds();
/// Highest resident memory of this process since it began, or since the last reset, in bytes; 0 where the
/// system does not tell.
[[nodiscard]] double peak_resident_bytes();
/// Begins a new peak at what is resident now. Best effort.
void reset_peak_resident();

}  // namespace tessera::bench
