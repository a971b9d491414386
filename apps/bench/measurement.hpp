// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/inventory.hpp>

#include <string>
#include <vector>

namespace tessera::bench {

struct Measurement {
  std::string suite;
  std::string name;  ///< the case, e.g. "G4, 1000000 rows"
  std::string what;  ///< the program or quantity: "tessera", "tessera peak", "devices", …
  std::string unit;  ///< unit of the values: "s", "MB", "MB/s" or "1"
  std::vector<double> values;

  [[nodiscard]] double minimum() const;
  [[nodiscard]] double median() const;
  [[nodiscard]] double maximum() const;
};

/// The hardware of the measurements: "64 x Intel(R) Xeon(R) …; 8 x NVIDIA H200; 1 node, 4 ranks", with the
/// number of hardware threads of this node.
[[nodiscard]] std::string machine_of(const Inventory& inventory);

/// Both formats name the machine and the commit.
void print_table(const std::vector<Measurement>& measurements, const std::string& machine);
void print_json_lines(const std::vector<Measurement>& measurements, const std::string& machine);

/// CPU seconds used by this process.
[[nodiscard]] double processor_seconds();
/// Peak resident memory of this process since its start or the last reset, in bytes; 0: not known.
[[nodiscard]] double peak_resident_bytes();
/// Resets the peak to the memory that is resident now, if the system permits it.
void reset_peak_resident();

}  // namespace tessera::bench
