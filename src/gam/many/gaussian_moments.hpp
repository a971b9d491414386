// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/active_columns.hpp"
#include "gam/many/shared_design.hpp"

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// All that the criterion of a gaussian response without missing values needs of its rows: the residual sum
/// of squares is |r|^2 - 2 d'X'Wr + d'X'WXd at b + d, where r are the residuals at b, near the least squares,
/// so that no digits are lost.
class GaussianMoments {
 public:
  GaussianMoments() = default;
  /// Cost: three passes over the rows. `y` and `offset`: by slot.
  GaussianMoments(const SharedDesign& design, std::span<const double> y, std::span<const double> offset);

  /// X'W residuals at coefficients, of all columns.
  [[nodiscard]] std::vector<double> score(const std::vector<double>& b) const;
  [[nodiscard]] double residual_sum_of_squares(const std::vector<double>& b) const;

 private:
  const SharedDesign* design_ = nullptr;
  std::vector<double> base_;   ///< b
  std::vector<double> score_;  ///< X'Wr
  double squares_ = 0;         ///< |r|^2
};

}  // namespace TESSERA_NAMESPACE::gam
