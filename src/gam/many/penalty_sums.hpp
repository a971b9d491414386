// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/active_columns.hpp"
#include "gam/many/shared_design.hpp"

#include <tessera/gam/matrix.hpp>

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// log|S|+ up to a constant, and its derivatives by the component's log smoothing parameters.
struct PenaltyTerm {
  double value = 0;  ///< NaN: S has lost rank by rounding
  std::vector<double> gradient;
  Matrix hessian;
};

/// A component's penalties, restricted to its active columns. Log smoothing parameters may be infinite.
class PenaltySums {
 public:
  /// The arguments must outlive this object.
  PenaltySums(const SharedDesign& design, const DesignComponent& component, const ActiveColumns& active)
      : design_(design), component_(component), active_(active) {}

  static constexpr int all = -2;
  /// to += lambda S b, summed over the penalties of a smoothing parameter; over all penalties if `all`.
  void add_product(std::span<const double> log_sp, int parameter, const std::vector<double>& b,
                   std::vector<double>& to) const;
  /// packed += lambda S, summed like `add_product`.
  void add_matrix(std::span<const double> log_sp, int parameter, std::vector<double>& packed) const;
  void log_determinant(std::span<const double> log_sp, PenaltyTerm& to) const;
  /// tr(a lambda S) for the packed matrix a.
  [[nodiscard]] double trace(std::span<const double> log_sp, int parameter,
                             const std::vector<double>& packed) const;
  /// Index of a smoothing parameter in `DesignComponent::parameters`.
  [[nodiscard]] std::size_t index_of(int parameter) const;
  /// Whether all terms of a smoothing parameter are absent, so that it has no active column.
  [[nodiscard]] bool is_absent(int parameter) const;

 private:
  /// Calls `use(row, column, lambda * S(row, column))` for the elements of active columns.
  template <class Use>
  void for_each_element(std::span<const double> log_sp, int parameter, const Use& use) const;
  [[nodiscard]] static double log_lambda(const SharedPenalty& penalty, std::span<const double> log_sp) {
    return penalty.offset + (penalty.parameter < 0 ? 0 : log_sp[base::at(penalty.parameter)]);
  }
  const SharedDesign& design_;
  const DesignComponent& component_;
  const ActiveColumns& active_;
};

}  // namespace TESSERA_NAMESPACE::gam
