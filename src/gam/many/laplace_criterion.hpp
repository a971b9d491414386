// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/math/elementary.hpp"
#include "gam/many/component_criterion.hpp"
#include "gam/many/likelihood_sums.hpp"
#include "gam/many/response_constants.hpp"
#include "gam/many/response_fit.hpp"
#include "gam/many/saturated_counts.hpp"
#include "gam/many/scale_likelihood.hpp"

#include <memory>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

struct ManyDerivatives {
  std::vector<int> parameters;  ///< indices of smoothing parameters, then `index_of_tau` if tau is estimated
  std::vector<double> gradient;
  Matrix hessian;
  std::vector<ComponentDerivatives> components;
};

/// Laplace REML criterion of one response. With A = X'WX + S at the maximum penalised likelihood estimate b:
///
///     V = -l(b) + b'Sb / 2 + log|A| / 2 - log|S|+ / 2
///
/// W has the observed weights. For families with a scale, S is relative to phi; see `evaluate`. A is block
/// diagonal by component of the design: V is a sum of one part per component, and of terms of y and tau only.
class LaplaceCriterion {
 public:
  /// `design` must outlive this object. `sums` computes the sums over rows.
  LaplaceCriterion(const SharedDesign& design, const ManyEstimator& estimator,
                   std::unique_ptr<LikelihoodSums> sums);

  /// Sets a response and finds the absent groups. Returns `converged` if the response must be fitted.
  [[nodiscard]] ManyStatus set_response(std::span<const double> values, const RowAdjustments& own,
                                        ResponseFit& out);
  /// Initial point: a constant predictor plus the offset; lambdas that make each penalty as large as X'WX on
  /// the penalised coefficients; theta or phi by moments.
  [[nodiscard]] ManyPoint start();

  /// Finds the coefficients and the criterion at a point's parameters, by Newton's method from the point's
  /// coefficients. Stops if the squared step in the metric of A / phi is below `tolerance`. False on failure.
  [[nodiscard]] bool settle(ManyPoint& point, double tolerance);
  /// For each value in `log_sp` of a smoothing parameter, whether the criterion may be below the last settled
  /// point's, by a quadratic approximation. Afterwards the point is no longer settled.
  [[nodiscard]] std::vector<bool> may_be_lower(const ManyPoint& point, int parameter,
                                               std::span<const double> log_sp);
  /// Derivatives at the last settled point. Unchanged components keep their derivatives in `to`.
  void differentiate(const ManyPoint& point, ManyDerivatives& to);

  /// Sets likelihood and deviance at the last settled point.
  void describe(const ManyPoint& point, ResponseFit& out);
  /// Sets X'WX with expected weights, A^-1, the coefficients of tests and the scale. False if A is singular.
  [[nodiscard]] bool add_covariance(const ManyPoint& point, ResponseFit& out);

  /// Whether log(theta) or log(phi) is estimated.
  [[nodiscard]] bool has_tau() const {
    return estimator_.family == ManyFamily::nb ? !estimator_.theta : has_scale();
  }
  [[nodiscard]] bool has_scale() const { return estimator_.has_scale(); }

 private:
  [[nodiscard]] bool has_counts() const {
    return estimator_.family == ManyFamily::nb || estimator_.family == ManyFamily::poisson;
  }
  [[nodiscard]] bool has_log_link() const { return has_counts() || estimator_.family == ManyFamily::gamma; }
  [[nodiscard]] ManyFamily family_at(const ManyPoint& point) const {
    return point.poisson ? ManyFamily::poisson : estimator_.family;
  }
  [[nodiscard]] double theta_at(const ManyPoint& point) const {
    return estimator_.family == ManyFamily::nb ? base::exp(point.tau) : 1;
  }
  [[nodiscard]] double phi_at(const ManyPoint& point) const { return has_scale() ? base::exp(point.tau) : 1; }

  /// Replaces the design's weight in a slot; returns `weight`.
  double set_weight(int slot, double weight);
  [[nodiscard]] const char* fault_of(double y) const;
  void leave_out_absent(ResponseFit& out);
  void leave_out_rows_of_absent(ResponseFit& out);
  [[nodiscard]] bool has_no_curve(const RowGroup& group) const;
  [[nodiscard]] double theta_by_moments(double level) const;
  void evaluate(ManyPoint& point);
  void list_parameters(ManyDerivatives& to) const;
  void add_tau(const ManyPoint& point, ManyDerivatives& to) const;

  const SharedDesign& design_;
  ManyEstimator estimator_;
  std::unique_ptr<LikelihoodSums> row_sums_;
  std::unique_ptr<LikelihoodSums> moments_;    ///< for a gaussian response with the design's weights
  LikelihoodSums* sums_ = nullptr;             ///< `row_sums_` or `moments_`
  std::vector<double> y_;                      ///< response, by slot
  std::span<const double> weights_, offsets_;  ///< by slot; the design's or the response's own
  std::vector<double> own_weights_, own_offsets_;
  std::span<const double> exp_offsets_;  ///< e^offset; only with the log link
  std::vector<double> own_exp_offsets_;
  double sum_ = 0;
  SaturatedCounts counts_;
  ResponseConstants constants_;
  int null_space_ = 0;  ///< dimension of the unpenalised space without absent groups; only with a scale
  ScaleLikelihood scale_likelihood_;
  double start_level_ = 0;    ///< initial predictor without the offset
  std::vector<bool> absent_;  ///< by group
  std::vector<std::unique_ptr<ComponentCriterion>> components_;
  // At the last settled point:
  double loss_ = 0;
  SaturatedCounts::Value saturated_;
  double loss_by_tau_ = 0;
  double loss_by_tau_twice_ = 0;
  double penalised_deviance_ = 0;
};

}  // namespace TESSERA_NAMESPACE::gam
