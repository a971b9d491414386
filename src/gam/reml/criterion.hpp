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
/// and second derivatives. If the scale phi is not known, it is profiled out.
///
/// Source: Wood, JRSSB 73 (2011), sec. 2 and 3; computed from the crossproduct as in Wood, Li, Shaddick and
/// Augustin, JASA 112 (2017), sec. 2. Thread-safe if the algebra is.
///
/// A large random effect has a diagonal block in X'WX + S. The part of X'WX or, without a part, the largest
/// such block is eliminated, and its Schur complement over the other coefficients (the core) is factored and
/// inverted. If the part has several effects, `EliminationOrder` eliminates as much of it as pays, and the
/// Hessian is the average information. Exact second derivatives would need all of the part's inverse, unless
/// the part consists of small blocks.
///
/// Source: Gilmour, Thompson and Cullis, Biometrics 51 (1995).
class RemlCriterion {
 public:
  struct Evaluation {
    double value = 0;
    double rounding = 0;           ///< smaller changes of the value are rounding errors
    double noise = 0;              ///< error of value and gradient from the rounding of X'WX; 0 if negligible
    std::vector<double> gradient;  ///< dV / d log lambda_j
    Matrix hessian;
    std::vector<double> beside_scale;  ///< d2V / d log lambda_j d log phi, before phi is profiled out
    bool exact = true;                 ///< whether the Hessian is exact
  };

  /// The arguments must outlive the criterion; `bases`: of the design. Throws `tessera::Error(input)` if the
  /// unpenalised columns are linearly dependent, or if there are no more rows than unpenalised coefficients.
  RemlCriterion(const WorkingModel& model, const Design& design, const std::vector<BlockBasis>& bases,
                bool scale_known, const Algebra& algebra);
  /// The same criterion with another algebra (other threads or another device).
  [[nodiscard]] RemlCriterion computed_by(const Algebra& algebra) const {
    RemlCriterion same = *this;
    same.algebra_ = &algebra;
    return same;
  }

  [[nodiscard]] int size() const noexcept { return sp_count_; }
  /// The smoothing parameters for these log lambdas of the penalties; empty if `log_lambda` is empty.
  [[nodiscard]] std::vector<double> parameters_of(std::span<const double> log_lambda) const;
  [[nodiscard]] std::vector<double> log_lambda(std::span<const double> log_sp) const;
  [[nodiscard]] int core_size() const noexcept { return model_->matrix.outer.rows(); }
  /// Whether second derivatives are exact.
  [[nodiscard]] bool is_exact() const noexcept {
    return !model_->matrix.order->has_pattern() || !model_->matrix.order->blocks.empty();
  }
  /// Approximate number of operations of an evaluation.
  [[nodiscard]] double work() const noexcept;
  [[nodiscard]] const Algebra& algebra() const noexcept { return *algebra_; }
  /// Default of each log smoothing parameter: the log ratio of the mean diagonals of X'WX and of the first
  /// penalty with this parameter, over the penalised coefficients.
  [[nodiscard]] const std::vector<double>& default_start() const noexcept { return default_start_; }

  /// V and its derivatives at `log_sp`; empty if X'WX + S is not numerically positive definite. Cost: O(q^3 +
  /// M q^2) for M parameters and a core of q coefficients. Each eliminated coefficient adds the square of the
  /// number of coefficients that share rows with it.
  [[nodiscard]] std::optional<Evaluation> evaluate(std::span<const double> log_sp) const;
  /// The Hessian by the log smoothing parameters and, unless phi is known, log phi (not profiled out).
  [[nodiscard]] Matrix whole_hessian(const Evaluation& at) const;
  /// V without derivatives, at about a sixth of the cost of `evaluate`.
  [[nodiscard]] std::optional<double> value(std::span<const double> log_sp) const;
  /// Whether `profiles` supports this coordinate: a single penalty in the core, without a lower bound, whose
  /// rank is small enough for a profile to cost less than many evaluations.
  [[nodiscard]] bool has_profile(int coordinate) const;
  /// V along each of `coordinates` through `log_sp`; empty if `evaluate` is empty at `log_sp`. Inaccurate
  /// beyond a factor of about 1e10: profile a parameter at infinity from a finite value. Cost: one
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
  [[nodiscard]] const Coordinates& coordinates_of(const Factored& at) const;
  [[nodiscard]] bool is_of_part(const BlockBasis& basis) const { return part_.has(basis.begin); }
  /// First index of a block of the core in `Coordinates`.
  [[nodiscard]] int place_of(const BlockBasis& basis) const {
    return part_.size() + part_.in_core(basis.begin);
  }
  [[nodiscard]] std::optional<Factored> factor(std::span<const double> log_sp) const;
  [[nodiscard]] RemlProfile profile(const Factored& at, const Matrix& inverse, int penalty) const;
  [[nodiscard]] Matrix whole_inverse(const Factored& at, const Matrix& core) const;
  [[nodiscard]] PartedMatrix inverse_of_part(const Factored& at, const Matrix& core) const;
  /// n / gamma - M_p.
  [[nodiscard]] double degrees_of_freedom() const;
  [[nodiscard]] double scale_of(const Factored& at) const;
  /// Bounds of the change of log|X'WX + S|, or of a trace of its inverse times a penalty, by rounding in
  /// X'WX: one for each penalised block and, last, one for all other coefficients. `inverse`: over the core.
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
  std::shared_ptr<const Coordinates> model_;  ///< shared by copies
  std::vector<double> default_start_;
};

}  // namespace TESSERA_NAMESPACE::gam
