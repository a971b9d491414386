// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/coef_block_rows.hpp"
#include "gam/model/model.hpp"

#include <array>
#include <span>
#include <vector>

/// The axes of a plot or grid of a smooth, and the estimates at its points.
namespace TESSERA_NAMESPACE::gam {

/// An estimate on the scale of the linear predictor, with its posterior standard error.
struct Estimate {
  double fit = 0;
  double se = 0;
};

/// x'b and sqrt(x'Vx). The error is NaN if V lacks an element that it needs.
[[nodiscard]] Estimate estimate_of(const Combination& x, std::span<const double> coef,
                                   const PartedMatrix& covariance);

/// One variable of a margin: an axis of a plot or grid.
struct SmoothAxis {
  const Component* component;
  int place;     ///< index among the component's variables
  int variable;  ///< index into `Design::variables`
  [[nodiscard]] bool is_smooth() const { return component->is_curve() || component->isotropic.has_value(); }
};

/// The components of a smooth, except its by variable.
[[nodiscard]] std::span<const Component> margins_of(const Design& design, const CoefBlock& block);
/// The variables of margins, in the order in which `CoefBlockRows` takes their values.
[[nodiscard]] std::vector<SmoothAxis> axes_of(std::span<const Component> margins);
/// Minimum and maximum of the data along an axis; if the model does not store them, the ends of the basis.
[[nodiscard]] std::array<double, 2> extent_of(const FittedModel& model, const SmoothAxis& axis);

}  // namespace TESSERA_NAMESPACE::gam
