// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/coef_block_rows.hpp"
#include "gam/model/model.hpp"

#include <array>
#include <span>
#include <vector>

/// Axes of plots and grids of a smooth, and estimates at their points.
namespace TESSERA_NAMESPACE::gam {

/// An estimate on the scale of the linear predictor, with its posterior standard error.
struct Estimate {
  double fit = 0;
  double se = 0;
};

/// x'b and sqrt(x'Vx). The standard error is NaN if V does not store a needed element.
[[nodiscard]] Estimate estimate_of(const Combination& x, std::span<const double> coef,
                                   const PartedMatrix& covariance);

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
