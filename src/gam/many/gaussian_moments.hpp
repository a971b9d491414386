// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/likelihood_sums.hpp"

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Sums for a gaussian response with the design's weights, in O(p^2) per call instead of a pass over the
/// rows. With the residuals r at b, the residual sum of squares at b + d is r'Wr - 2 d'X'Wr + d'X'WXd. There
/// is no cancellation because b is near the least-squares solution.
class GaussianMoments final : public LikelihoodSums {
 public:
  /// `design` must outlive this object.
  explicit GaussianMoments(const SharedDesign& design);

  /// `weights` must be the design's. Cost: two passes over the rows.
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
  /// Computes X'Wr and the residual sums of squares at b = `base_`.
  void sum_residuals();

  const SharedDesign& design_;
  ActiveColumns all_;
  std::span<const double> y_, weights_, offset_;  ///< by slot
  std::vector<double> base_;
  std::vector<double> score_;    ///< X'Wr
  std::vector<double> squares_;  ///< residual sum of squares, by component
  std::vector<double> step_;     ///< d of the last `score_and_gram`, by column
  std::vector<double> product_;  ///< X'WX d, by column
};

}  // namespace TESSERA_NAMESPACE::gam
