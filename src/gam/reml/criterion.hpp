// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/algebra.hpp"
#include "gam/linalg/elimination.hpp"
#include "gam/reml/penalty_basis.hpp"
#include "gam/reml/profile.hpp"
#include "gam/reml/working_model.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The REML criterion V of a working model as a function of the log smoothing parameters, with exact first
/// and second derivatives. Phi is profiled out if it is not known.
///
///     const auto bases = penalty_bases(design);
///     const HostAlgebra algebra;
///     RemlCriterion v(model, design, bases, false, algebra);
///     auto at = v.evaluate(v.default_start());   // at->value, at->gradient, at->hessian
///
/// Source: Wood, JRSSB 73 (2011), sec. 2 and 3; computed from the crossproduct as in Wood, Li, Shaddick and
/// Augustin, JASA 112 (2017), sec. 2. Thread-safe if the algebra is: evaluations change nothing.
///
/// A large random effect has a diagonal block in X'WX + S. The largest such block is eliminated; its Schur
/// complement, over the other coefficients (the core), is factored and inverted. If X'WX has a part, the part
/// is eliminated. If the part has several effects, `EliminationOrder` eliminates as much of it as pays, and
/// the Hessian is the average information: exact second derivatives would need all of the part's inverse,
/// unless the part consists of small blocks.
///
/// Source: Gilmour, Thompson and Cullis, Biometrics 51 (1995).
class RemlCriterion {
 public:
  struct Evaluation {
    double value = 0;              ///< V
    double rounding = 0;           ///< changes of V below this are rounding
    double noise = 0;              ///< error of V and its gradient from the rounding of X'WX; 0 if negligible
    std::vector<double> gradient;  ///< dV / d log lambda_j
    Matrix hessian;
    std::vector<double> beside_scale;  ///< d2V / d log lambda_j d log phi, before phi is profiled out
    bool exact = true;                 ///< whether the Hessian is exact, not an approximation
  };

  /// The arguments must outlive the criterion; `bases`: those of the design. Throws `tessera::Error(input)`
  /// if the unpenalised columns are linearly dependent, or if there are no more rows than unpenalised
  /// coefficients.
  RemlCriterion(const WorkingModel& model, const Design& design, const std::vector<BlockBasis>& bases,
                bool scale_known, const Algebra& algebra);
  /// The same criterion, computed with other threads or another device.
  [[nodiscard]] RemlCriterion computed_by(const Algebra& algebra) const {
    RemlCriterion same = *this;
    same.algebra_ = &algebra;
    return same;
  }

  [[nodiscard]] int size() const noexcept { return sp_count_; }
  /// The smoothing parameters that give the penalties these log lambdas; empty if `log_lambda` is.
  [[nodiscard]] std::vector<double> parameters_of(std::span<const double> log_lambda) const;
  /// log lambda of each penalty.
  [[nodiscard]] std::vector<double> log_lambda(std::span<const double> log_sp) const;
  /// Number of coefficients that are not eliminated.
  [[nodiscard]] int core_size() const noexcept { return model_->matrix.outer.rows(); }
  /// Whether second derivatives are exact, and the search may afford other starts.
  [[nodiscard]] bool is_exact() const noexcept {
    return !model_->matrix.order->has_pattern() || !model_->matrix.order->blocks.empty();
  }
  /// Approximate number of operations of an evaluation.
  [[nodiscard]] double work() const noexcept;
  [[nodiscard]] const Algebra& algebra() const noexcept { return *algebra_; }
  /// For each parameter, with its first penalty S_j: the log of the ratio of the mean diagonals of X'WX and
  /// S_j, over the coefficients that S_j penalises.
  [[nodiscard]] const std::vector<double>& default_start() const noexcept { return default_start_; }

  /// V and its derivatives at `log_sp`. Empty if X'WX + S is not numerically positive definite there. Cost:
  /// O(q^3 + M q^2) for M parameters and q coefficients not eliminated, plus, for each eliminated one, the
  /// square of the number of coefficients that share rows with it.
  [[nodiscard]] std::optional<Evaluation> evaluate(std::span<const double> log_sp) const;
  /// The Hessian by the log smoothing parameters and, unless known, log phi, which is not profiled out.
  [[nodiscard]] Matrix whole_hessian(const Evaluation& at) const;
  /// V alone, at about a sixth of the cost.
  [[nodiscard]] std::optional<double> value(std::span<const double> log_sp) const;
  /// Whether `profiles` supports this coordinate: it belongs to one block, whose penalty has no least lambda
  /// and is small enough for a profile to cost less than many evaluations.
  [[nodiscard]] bool has_profile(int coordinate) const;
  /// V along each of `coordinates` through `log_sp`; empty if `evaluate` gives nothing there. Beyond a factor
  /// of 1e10 or so it is inaccurate: profile a parameter at infinity from a finite value. Cost: that of
  /// `evaluate`, and O(r^3) for each coordinate with a penalty of rank r.
  [[nodiscard]] std::vector<RemlProfile> profiles(std::span<const double> log_sp,
                                                  std::span<const int> coordinates) const;
  /// The fit at given smoothing parameters; the caller sets `iterations` and `converged`.
  [[nodiscard]] RemlFit solution(std::span<const double> log_sp) const;

 private:
  /// The working model in the coordinates of the bases, in elimination order.
  struct Coordinates {
    OrderedMatrix matrix;  ///< X'WX
    std::vector<double> gradient;
    std::vector<double> base;

    /// Transforms coefficients of the core from `begin` on.
    void change_basis(int begin, const Matrix& u, const Algebra& algebra);
  };
  struct Factored;

  void order(PartedMatrix gram, Coordinates& model) const;
  /// Converts derivatives by log lambdas to derivatives by the parameters, which lambdas may share.
  void add_up(std::span<const double> log_lambda, Evaluation& at) const;
  [[nodiscard]] bool is_bounded() const {
    return std::ranges::any_of(parameters_, [](const PenaltyParameter& one) { return one.least > 0; });
  }
  /// The coordinates of an evaluation: its own if penalties had to be graded, else the criterion's.
  [[nodiscard]] const Coordinates& coordinates_of(const Factored& at) const;
  [[nodiscard]] bool is_of_part(const BlockBasis& basis) const { return part_.has(basis.begin); }
  /// Where a block of the core begins in `Coordinates`.
  [[nodiscard]] int place_of(const BlockBasis& basis) const {
    return part_.size() + part_.in_core(basis.begin);
  }
  [[nodiscard]] std::optional<Factored> factor(std::span<const double> log_sp) const;
  /// V along the log lambda of one penalty.
  [[nodiscard]] RemlProfile profile(const Factored& at, const Matrix& inverse, int penalty) const;
  [[nodiscard]] Matrix whole_inverse(const Factored& at, const Matrix& core) const;
  [[nodiscard]] PartedMatrix inverse_of_part(const Factored& at, const Matrix& core) const;
  /// n / gamma - M_p.
  [[nodiscard]] double degrees_of_freedom() const;
  [[nodiscard]] double scale_of(const Factored& at) const;
  /// How much the rounding of X'WX can change log|X'WX + S|, or a trace of its inverse times a penalty: one
  /// number for each penalised block's coefficients and, last, one for all other coefficients. `inverse`: the
  /// inverse over the core.
  [[nodiscard]] std::vector<double> noise_of(const Coordinates& model, const Matrix& inverse) const;
  [[nodiscard]] double value_of(const Factored& at) const;

  const WorkingModel& working_;
  const Algebra* algebra_;
  bool scale_known_;
  const std::vector<BlockBasis>& bases_;
  Part part_;  ///< the part of X'WX; if there is none, the eliminated block
  std::vector<PenaltyParameter> parameters_;
  int sp_count_ = 0;
  int unpenalised_ = 0;                       ///< M_p
  double floor_ = 0;                          ///< lower limit of the residual sum of squares
  std::shared_ptr<const Coordinates> model_;  ///< shared by copies of a criterion
  std::vector<double> default_start_;
};

}  // namespace TESSERA_NAMESPACE::gam
