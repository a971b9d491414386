// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Saturated log likelihood of counts (each mean is the count), which `add_losses` leaves out. A sum over
/// distinct counts. Free of cancellation for large counts and for a large theta.
class SaturatedCounts {
 public:
  void clear() noexcept;
  /// `count` must be an integer of at least 0.
  void add(double count, double weight);
  /// Must be called after the last `add`.
  void finish();

  struct Value {
    double sum = 0;
    // Derivatives by log(theta).
    double slope = 0;
    double curvature = 0;
  };
  /// Negative binomial.
  [[nodiscard]] Value at(double theta) const;
  [[nodiscard]] double poisson() const noexcept { return poisson_; }

 private:
  std::vector<double> of_count_;                   ///< total weight by count, up to `most_by_count`
  std::vector<std::pair<double, double>> others_;  ///< larger counts and their weights
  // Set by `finish`.
  std::vector<double> small_;                  ///< total weight by count, below `least_large`
  std::vector<double> above_;                  ///< total weight of the counts in `small_` above each number
  std::vector<double> large_, large_weights_;  ///< distinct counts from `least_large` on, in packets
  double weight_of_large_ = 0;
  double poisson_ = 0;
};

}  // namespace TESSERA_NAMESPACE::gam
