// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/count_memo.hpp"
#include "gam/family/family.hpp"
#include "gam/family/response_memo.hpp"

#include <cstddef>
#include <functional>
#include <span>

namespace TESSERA_NAMESPACE::gam {

/// -2 log likelihood of the saturated model, summed in row order, with caches. Not thread-safe.
class SaturatedSum {
 public:
  /// `family` must outlive this object.
  SaturatedSum(const Family& family, double scale) : family_(&family), scale_(scale) {}

  /// Returns `sum` plus -2 log likelihood - deviance/scale of these rows. Depends on the mean only for rows
  /// with `likelihood_rounds`; `predictor(i)` is called only for these rows. Empty `weights`: all 1. Empty
  /// `limits`: no response is censored.
  [[nodiscard]] double add(double sum, std::span<const double> responses, std::span<const double> weights,
                           const std::function<double(std::size_t)>& predictor,
                           std::span<const double> limits = {});

 private:
  template <class F>
  [[nodiscard]] double saturated(const F& family, Response y, double weight);

  const Family* family_;
  double scale_;
  CountMemo<double> counts_;  ///< for rows of weight 1
  TwMemo series_;
};

}  // namespace TESSERA_NAMESPACE::gam
