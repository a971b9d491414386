// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The log likelihood of counts whose means are the counts: the part of the likelihood that `add_losses`
/// leaves out. A sum over distinct counts; no two large numbers are subtracted, neither for large counts nor
/// for a large theta.
class SaturatedCounts {
 public:
  void clear() noexcept;
  /// Adds a count, a whole number of at least 0.
  void add(double count, double weight);
  /// Call this after the last count.
  void finish();

  struct Value {
    double sum = 0;
    // Derivatives by log(theta).
    double slope = 0;
    double curvature = 0;
  };
  /// For negative binomial counts.
  [[nodiscard]] Value at(double theta) const;
  /// For Poisson counts.
  [[nodiscard]] double poisson() const noexcept { return poisson_; }

 private:
  std::vector<double> of_count_;  ///< total weight of each count up to `most_listed`, by count
  std::vector<std::pair<double, double>> others_;  ///< larger counts, with their weights
  // Set by `finish`.
  std::vector<double> small_;  ///< total weight of each count below `least_large`, by count
  std::vector<double> above_;  ///< total weight of the counts among these that are above each number
  std::vector<double> large_, large_weights_;  ///< distinct counts from `least_large` on, in packets
  double weight_of_large_ = 0;
  double poisson_ = 0;
};

}  // namespace TESSERA_NAMESPACE::gam
