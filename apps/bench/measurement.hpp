// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/inventory.hpp>

#include <string>
#include <vector>

namespace tessera::bench {

/// A measured quantity, with a value for each run.
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

/// The hardware that figures depend on: "2 x Intel(R) Xeon(R) …; 8 x NVIDIA H200; 4 ranks".
[[nodiscard]] std::string machine_of(const Inventory& inventory);

/// Prints measurements as a table, or as one line of JSON each; both name machine and commit.
void print_table(const std::vector<Measurement>& measurements, const std::string& machine);
void print_json_lines(const std::vector<Measurement>& measurements, const std::string& machine);

/// CPU seconds used by this process.
[[nodiscard]] double processor_seconds();
/// Peak resident memory of this process since its start or the last reset, in bytes; 0 if it is not known.
[[nodiscard]] double peak_resident_bytes();
/// Resets the peak to the memory that is resident now. Best effort.
void reset_peak_resident();

}  // namespace tessera::bench
