// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/count_memo.hpp"
#include "gam/family/family.hpp"
#include "gam/family/response_memo.hpp"

#include <cstddef>
#include <functional>
#include <span>

namespace TESSERA_NAMESPACE::gam {

/// Minus twice the log likelihood of the saturated model, summed row by row, with a cache by response. Not
/// thread-safe.
class SaturatedSum {
 public:
  /// The family must outlive this object.
  SaturatedSum(const Family& family, double scale) : family_(&family), scale_(scale) {}

  /// Adds to `sum` minus twice the log likelihood of these rows, without the part deviance / scale.
  /// `predictor(i)` is called only for a row whose likelihood rounds: only such rows depend on the mean.
  /// Empty `weights`: all are 1; empty `limits`: no response has a second number.
  [[nodiscard]] double add(double sum, std::span<const double> responses, std::span<const double> weights,
                           const std::function<double(std::size_t)>& predictor,
                           std::span<const double> limits = {});

 private:
  template <class F>
  [[nodiscard]] double saturated(const F& family, Response y, double weight);

  const Family* family_;
  double scale_;
  CountMemo<double> counts_;  ///< values by count, for rows of weight 1
  TwMemo series_;
};

}  // namespace TESSERA_NAMESPACE::gam
