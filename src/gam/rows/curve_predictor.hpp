// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/far_field.hpp"
#include "gam/rows/layout.hpp"

#include <optional>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The component of a term that is a single curve; null for any other term.
[[nodiscard]] const ComponentTable* lone_curve(const LayoutView& view, int term);

/// The far field of a term with a single component; null if there is none.
[[nodiscard]] const FarField* lone_far_field(const RowLayout& layout, int term);

/// Linear predictor of terms that are a single curve, such as s(x), for given coefficients. Such a term is
/// one cubic per cell, so a pass without products need not evaluate its columns.
class CurvePredictor {
 public:
  CurvePredictor(const RowLayout& layout, std::span<const double> raw_coef);

  [[nodiscard]] std::span<const double> raw_coef() const noexcept { return raw_coef_; }
  /// The cubics of a term for `PointEvaluator::add_curve`; null if the term is not a curve.
  [[nodiscard]] const double* cells_of(int term) const {
    const std::vector<double>& cells = cells_[static_cast<std::size_t>(term)];
    return cells.empty() ? nullptr : cells.data();
  }
  /// The far-field predictor of a term; null if the term has no far field.
  [[nodiscard]] const FarField::Functions* far_of(int term) const {
    const auto& far = far_[static_cast<std::size_t>(term)];
    return far ? &*far : nullptr;
  }
  /// True if the predictor needs the term's values.
  [[nodiscard]] bool needs_values(int term) const { return needs_values_[static_cast<std::size_t>(term)]; }

 private:
  std::vector<double> raw_coef_;
  std::vector<std::vector<double>> cells_;
  std::vector<std::optional<FarField::Functions>> far_;
  std::vector<bool> needs_values_;
};

}  // namespace TESSERA_NAMESPACE::gam
