// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The part of the log likelihood of negative binomial counts y that depends only on theta and the counts:
///
///     sum_i w_i sum_{j < y_i} log(1 + j / theta)
///
/// The sum runs over j, weighted by the total weight of counts above j, with one logarithm for each j.
/// Differences of two lgamma would lose the digits of a large theta.
class CountTail {
 public:
  void clear() noexcept;
  /// Adds a count, a whole number of at least 0.
  void add(double count, double weight);
  /// Call this after the last count.
  void finish();

  /// The sum, with its derivatives by log(theta).
  struct Value {
    double sum = 0;
    double slope = 0;
    double curvature = 0;
  };
  [[nodiscard]] Value at(double theta) const;

  /// The sum of w f(y) over counts above zero; f is evaluated once for each distinct count.
  template <class Function>
  [[nodiscard]] double sum_of(const Function& f) const {
    double sum = 0;
    for (std::size_t i = 0; i < of_count_.size(); ++i) {
      if (of_count_[i] != 0) sum += of_count_[i] * f(static_cast<double>(i + 1));
    }
    for (const auto& [count, weight] : large_) sum += weight * f(count);
    return sum;
  }

 private:
  std::vector<double> of_count_;  ///< weights of the counts 1, 2, … up to `most_terms`
  /// Total weight of the counts above j, for each j up to `most_terms`. Stirling's series sums the remainder.
  std::vector<double> above_;
  std::vector<std::pair<double, double>> large_;  ///< larger counts, with their weights
};

}  // namespace TESSERA_NAMESPACE::gam
