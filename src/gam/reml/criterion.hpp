// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/algebra.hpp"
#include "gam/reml/penalty_basis.hpp"
#include "gam/reml/profile.hpp"
#include "gam/reml/working_model.hpp"

#include <optional>
#include <span>
#include <vector>

namespace tessera::gam {

/// The REML criterion V of a working model as a function of the log smoothing parameters, with exact first
/// and second derivatives, phi profiled out where it is not known.
///
///     const auto bases = penalty_bases(design);
///     const HostAlgebra algebra;
///     RemlCriterion v(model, design, bases, false, algebra);
///     auto at = v.evaluate(v.default_start());   // at->value, at->gradient, at->hessian
///
/// Source: Wood, JRSSB 73 (2011), sec. 2 and 3, from the crossproduct as in Wood, Li, Shaddick and
/// Augustin, JASA 112 (2017), sec. 2. Thread-safe if the algebra is: evaluation changes nothing.
class RemlCriterion {
 public:
  struct Evaluation {
    double value = 0;              ///< V
    double rounding = 0;           ///< changes of V below this mean nothing
    std::vector<double> gradient;  ///< dV / d log lambda_j
    Matrix hessian;
  };

  /// The arguments must outlive the criterion; `bases` are those of the design. Throws
  /// `tessera::Error(input)` if the unpenalised columns are linearly dependent, or if there are no more rows
  /// than unpenalised coefficients.
  RemlCriterion(const WorkingModel& model, const Design& design, const std::vector<BlockBasis>& bases,
                bool scale_known, const Algebra& algebra);
  /// The same with other threads or another device to compute with.
  RemlCriterion(const RemlCriterion& other, const Algebra& algebra) : RemlCriterion(other) {
    algebra_ = &algebra;
  }

  /// Number of smoothing parameters.
  [[nodiscard]] int size() const noexcept { return sp_count_; }
  /// Number of coefficients.
  [[nodiscard]] int coefficients() const noexcept { return gram_.rows(); }
  [[nodiscard]] const Algebra& algebra() const noexcept { return *algebra_; }
  /// log of mean diagonal of X'WX over mean diagonal of S_j, over the coefficients that S_j penalises.
  [[nodiscard]] const std::vector<double>& default_start() const noexcept { return default_start_; }

  /// Nothing if X'WX + S is not numerically positive definite there. Cost: O(p^3 + M p^2).
  [[nodiscard]] std::optional<Evaluation> evaluate(std::span<const double> log_sp) const;
  /// V along each of `coordinates` through `log_sp`; empty where `evaluate` gives nothing. Digits are lost a
  /// factor of 1e10 or so from there: a parameter at infinity is looked at from a finite value of it. Cost:
  /// that of `evaluate`, and O(r^3) for each coordinate whose penalty has rank r.
  [[nodiscard]] std::vector<RemlProfile> profiles(std::span<const double> log_sp,
                                                  std::span<const int> coordinates) const;
  /// The fit at given smoothing parameters; `iterations` and `converged` are left to the caller.
  [[nodiscard]] RemlFit solution(std::span<const double> log_sp) const;

 private:
  struct Factored;

  [[nodiscard]] std::optional<Factored> factor(std::span<const double> log_sp) const;
  [[nodiscard]] RemlProfile profile(const Factored& at, const Matrix& inverse, std::span<const double> log_sp,
                                    int coordinate) const;
  [[nodiscard]] double scale_of(const Factored& at) const;
  [[nodiscard]] double value_of(const Factored& at, double log_det_penalty) const;

  const WorkingModel& model_;
  const Algebra* algebra_;
  bool scale_known_;
  const std::vector<BlockBasis>& bases_;
  int sp_count_ = 0;
  int unpenalised_ = 0;  ///< M_p
  double floor_ = 0;     ///< of the residual sum of squares
  Matrix gram_;          ///< U' X'WX U
  std::vector<double> gradient_;
  std::vector<double> base_;
  std::vector<double> default_start_;
};

}  // namespace tessera::gam
