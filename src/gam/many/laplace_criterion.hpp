// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/active_columns.hpp"
#include "gam/many/count_tail.hpp"
#include "gam/many/gaussian_moments.hpp"
#include "gam/many/likelihood_sums.hpp"
#include "gam/many/penalty_sums.hpp"
#include "gam/many/response_constants.hpp"
#include "gam/many/response_fit.hpp"
#include "gam/many/scale_likelihood.hpp"
#include "gam/many/small_cholesky.hpp"

#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A value of all parameters, with its coefficients.
struct ManyPoint {
  std::vector<double> log_sp;  ///< infinite at the limit of a term
  double tau = 0;              ///< log(theta), or log(phi)
  bool poisson = false;        ///< theta is infinite
  std::vector<double> b;       ///< by column of the design
  double value = 0;            ///< the criterion
};

/// The index of log(theta) or log(phi) among smoothing parameters.
inline constexpr int index_of_tau = -1;

/// The derivatives of the criterion, and of the coefficients by active column, by the free parameters.
struct ManyDerivatives {
  std::vector<int> parameters;  ///< indices of smoothing parameters, then `index_of_tau` if it is estimated
  std::vector<double> gradient;
  Matrix hessian;
  std::vector<std::vector<double>> first;
  std::vector<std::vector<double>> second;  ///< packed
};

/// The criterion of one response, with A = X'WX + S at the coefficients b of the highest penalised
/// likelihood,
///
///     V = -l(b) + b'Sb / 2 + log|A| / 2 - log|S|+ / 2
///
/// for the families of known scale; for the others S is relative to phi: see `evaluate`. W are the observed
/// weights.
class LaplaceCriterion {
 public:
  /// The design must outlive it. `sums`: where the rows are summed.
  LaplaceCriterion(const SharedDesign& design, const ManyEstimator& estimator,
                   std::unique_ptr<LikelihoodSums> sums);

  /// Reads a response, and finds the groups that are absent. `converged`: it is to be fitted.
  [[nodiscard]] ManyStatus set_response(std::span<const double> values, const RowAdjustments& own,
                                        ResponseFit& out);
  /// The start of the search: equal predictors in all rows, each lambda such that its penalty is as large as
  /// X'WX on the coefficients that it penalises, theta by moments.
  [[nodiscard]] ManyPoint start();

  /// Finds the coefficients at the parameters of a point, by Newton's method from its coefficients, until the
  /// squared step in the metric of A is below `tolerance`; sets its criterion. False on failure.
  [[nodiscard]] bool settle(ManyPoint& point, double tolerance);
  /// Derivatives at the last settled point. Cost: for m parameters, m + 1 passes like the pass for X'WX.
  void differentiate(const ManyPoint& point, ManyDerivatives& to);

  /// Likelihood and deviance at the last settled point.
  void describe(const ManyPoint& point, ResponseFit& out);
  /// X'WX and the covariance there, with expected weights. False if the covariance is singular.
  [[nodiscard]] bool add_covariance(const ManyPoint& point, ResponseFit& out);

  [[nodiscard]] const ActiveColumns& active() const noexcept { return active_; }
  /// Whether log(theta) or log(phi) is estimated.
  [[nodiscard]] bool has_tau() const {
    return estimator_.family == ManyFamily::nb ? !estimator_.theta : has_scale();
  }
  [[nodiscard]] bool has_scale() const {
    return estimator_.family == ManyFamily::gaussian || estimator_.family == ManyFamily::gamma;
  }

 private:
  [[nodiscard]] bool has_counts() const {
    return estimator_.family == ManyFamily::nb || estimator_.family == ManyFamily::poisson;
  }
  [[nodiscard]] bool has_log_link() const { return has_counts() || estimator_.family == ManyFamily::gamma; }
  [[nodiscard]] ManyFamily family_at(const ManyPoint& point) const {
    return point.poisson ? ManyFamily::poisson : estimator_.family;
  }
  [[nodiscard]] double theta_at(const ManyPoint& point) const {
    return estimator_.family == ManyFamily::nb ? std::exp(point.tau) : 1;
  }
  [[nodiscard]] LikelihoodPoint at_point(const ManyPoint& point) const {
    return {family_at(point), theta_at(point), active_};
  }
  [[nodiscard]] double phi_at(const ManyPoint& point) const { return has_scale() ? std::exp(point.tau) : 1; }

  [[nodiscard]] const char* fault_of(double y) const;
  void leave_out_absent(ResponseFit& out);
  [[nodiscard]] bool has_no_curve(const RowGroup& group) const;
  [[nodiscard]] double theta_by_moments(double level) const;
  /// X'WX of all columns, among the active ones.
  [[nodiscard]] std::vector<double> design_gram() const;
  /// The score X's and X'WX at the coefficients.
  void sum_first_derivatives(const ManyPoint& point, const std::vector<double>& b, std::vector<double>& score,
                             std::vector<double>& gram);
  [[nodiscard]] bool find_coefficients(ManyPoint& point, double tolerance);
  void sum_losses(const ManyPoint& point);
  void evaluate(ManyPoint& point);

  // laplace_derivatives.cpp
  void list_parameters(const ManyPoint& point, std::vector<int>& to) const;
  void add_tau(const ManyPoint& point, const std::vector<double>& b,
               const std::vector<std::vector<double>>& penalised, ManyDerivatives& to) const;
  [[nodiscard]] std::vector<double> between_factors(const std::vector<double>& packed) const;
  [[nodiscard]] double trace_with_inverse(const ManyPoint& point, int parameter) const;

  const SharedDesign& design_;
  ManyEstimator estimator_;
  std::unique_ptr<LikelihoodSums> sums_;
  // The response.
  std::vector<double> y_, weight_, offset_;  ///< by slot
  double sum_ = 0;
  CountTail tail_;
  ResponseConstants constants_;
  ScaleLikelihood scale_likelihood_;
  std::optional<GaussianMoments> moments_;  ///< of a gaussian response without missing values
  double saturated_ = 0;                    ///< saturated loss, for a family with a scale
  double start_level_ = 0;                  ///< of the predictor without the offset
  std::vector<bool> absent_;                ///< by group
  // Values at the last settled point.
  ActiveColumns active_;
  PenaltySums penalties_;
  std::vector<double> score_, hessian_;
  SmallCholesky factor_;
  double loss_ = 0;
  double loss_by_tau_ = 0;
  double loss_by_tau_twice_ = 0;
  double penalised_deviance_ = 0;
  std::vector<double> by_tau_;  ///< X' d2l/(deta dtau)
  PenaltyTerm log_penalty_;
  // Buffers of `differentiate`.
  std::vector<double> inverse_;  ///< A^-1
  WeightSums weight_sums_;
};

}  // namespace TESSERA_NAMESPACE::gam
