// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/likelihood_sums.hpp"

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The sums for a gaussian response with the weights of the design, without a pass over its rows for each
/// call. With the residuals r at b, the residual sum of squares at b + d is |r|^2 - 2 d'X'Wr + d'X'WXd. No
/// digits are lost, because b is near the least-squares solution.
class GaussianMoments final : public LikelihoodSums {
 public:
  /// The design must outlive this object.
  explicit GaussianMoments(const SharedDesign& design);

  /// Cost: two passes over the rows. Uses the weights of the design.
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
  /// Computes X'W (y - offset - X b) and the residual sums of squares at b = `base_`.
  void sum_residuals();

  const SharedDesign& design_;
  ActiveColumns all_;
  std::span<const double> y_, weights_, offset_;  ///< values by slot
  std::vector<double> base_;                      ///< coefficients b
  std::vector<double> score_;                     ///< X'Wr
  std::vector<double> squares_;                   ///< residual sum of squares of each component's rows
  std::vector<double> step_;                      ///< d at the last `score_and_gram`, by column
  std::vector<double> product_;                   ///< X'WX d, by column
};

}  // namespace TESSERA_NAMESPACE::gam
