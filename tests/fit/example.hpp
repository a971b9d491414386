// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

namespace tessera {

/// A table y, x, z, f, c, few of 200 rows: sine and parabola of two covariates, a factor, a constant, and a
/// number of few values. Deterministic, so that no seed is needed.
inline std::string example_table() {
  std::ostringstream table;
  table.precision(17);
  table << "y,x,z,f,c,few\n";
  for (int i = 0; i < 200; ++i) {
    const double x = std::fmod(i * 0.6180339887498949, 1.0);
    const double z = std::fmod(i * 0.7548776662466927, 1.0);
    table << std::sin(6 * x) + z * z + 0.1 * std::cos(97.0 * i) << ',' << x << ',' << z << ',' << "abc"[i % 3]
          << ",7," << i % 4 << '\n';
  }
  return table.str();
}

/// The program's own lines on standard error, without those of a launcher.
inline std::vector<std::string> complaints(const std::string& err) {
  std::vector<std::string> own;
  std::istringstream lines(err);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("tessera-fit: ")) own.push_back(line);
  }
  return own;
}

}  // namespace tessera
