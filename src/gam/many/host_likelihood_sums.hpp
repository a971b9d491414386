// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/likelihood_sums.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Computes `LikelihoodSums` on the calling thread.
class HostLikelihoodSums final : public LikelihoodSums {
 public:
  /// `design` must outlive this object.
  explicit HostLikelihoodSums(const SharedDesign& design);

  void set_response(std::span<const double> y, std::span<const double> weights,
                    std::span<const double> offset) override;
  void score_and_gram(const LikelihoodPoint& point, const std::vector<double>& b, std::vector<double>& score,
                      std::vector<double>& gram) override;
  [[nodiscard]] LossDerivatives loss(const LikelihoodPoint& point, std::vector<double>& by_tau) override;
  void weight_derivatives(const LikelihoodPoint& point, const std::vector<double>& inverse,
                          const std::vector<std::vector<double>>& first, bool with_tau,
                          WeightSums& to) override;
  [[nodiscard]] PearsonSums expected_gram(const LikelihoodPoint& point, std::vector<double>& gram) override;
  [[nodiscard]] double null_loss(ManyFamily family, double theta, double level) override;

 private:
  [[nodiscard]] ResponseRows rows_at(std::size_t slot) {
    return {y_.data() + slot, weights_.data() + slot, eta_.data() + slot, mean_.data() + slot};
  }

  const SharedDesign& design_;
  std::span<const double> y_, weights_, offset_;  ///< by slot
  std::vector<double> eta_, mean_;                ///< by slot
  std::vector<double> gathered_, pair_sums_, predictors_;
};

}  // namespace TESSERA_NAMESPACE::gam
