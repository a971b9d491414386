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

/// Derivatives of the criterion by the free parameters.
struct ManyDerivatives {
  std::vector<int> parameters;  ///< indices of smoothing parameters, then `index_of_tau` if tau is estimated
  std::vector<double> gradient;
  Matrix hessian;
  std::vector<ComponentDerivatives> components;
};

/// The criterion of one response, with A = X'WX + S at the coefficients b of the highest penalised
/// likelihood:
///
///     V = -l(b) + b'Sb / 2 + log|A| / 2 - log|S|+ / 2
///
/// W: observed weights. For families with a scale, S is relative to phi: see `evaluate`. A has a block for
/// each component of the design, so that V is a sum over components, except for terms that depend only on the
/// response and tau.
class LaplaceCriterion {
 public:
  /// The design must outlive this object. `sums` computes the sums over rows.
  LaplaceCriterion(const SharedDesign& design, const ManyEstimator& estimator,
                   std::unique_ptr<LikelihoodSums> sums);

  /// Reads a response, and finds the absent groups. Returns `converged` if the response has to be fitted.
  [[nodiscard]] ManyStatus set_response(std::span<const double> values, const RowAdjustments& own,
                                        ResponseFit& out);
  /// The start of the search: equal predictors in all rows; lambdas that make each penalty as large as X'WX
  /// on the coefficients that it penalises; theta by the method of moments.
  [[nodiscard]] ManyPoint start();

  /// Finds the coefficients for the parameters of a point, by Newton's method from the point's coefficients,
  /// until the squared step in the metric of A / phi is below `tolerance`. Sets the point's criterion. False
  /// on failure.
  [[nodiscard]] bool settle(ManyPoint& point, double tolerance);
  /// For each of some values of a smoothing parameter, whether the criterion may be lower there than at the
  /// last settled point, by the quadratic approximation of the log likelihood at that point. The point is not
  /// settled afterwards.
  [[nodiscard]] std::vector<bool> may_be_lower(const ManyPoint& point, int parameter,
                                               std::span<const double> log_sp);
  /// Derivatives at the last settled point. Components that have not changed keep theirs in `to`.
  void differentiate(const ManyPoint& point, ManyDerivatives& to);

  /// Sets likelihood and deviance at the last settled point.
  void describe(const ManyPoint& point, ResponseFit& out);
  /// Adds X'WX and the covariance at this point, with expected weights. False if the covariance is singular.
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

  /// Sets a weight that differs from the design's, and returns it.
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
  std::unique_ptr<LikelihoodSums> moments_;  ///< sums for a gaussian response without missing values
  LikelihoodSums* sums_ = nullptr;           ///< sums in use
  // Values of the response:
  std::vector<double> y_;                      ///< the response by slot
  std::span<const double> weights_, offsets_;  ///< the design's, or those of the next two members; by slot
  std::vector<double> own_weights_, own_offsets_;
  std::span<const double> exp_offsets_;  ///< e^offset, for a family with the log link
  std::vector<double> own_exp_offsets_;
  double sum_ = 0;
  SaturatedCounts counts_;
  ResponseConstants constants_;
  int null_space_ = 0;  ///< dimension of the unpenalised space without absent groups, if a scale is estimated
  ScaleLikelihood scale_likelihood_;
  double start_level_ = 0;    ///< predictor at the start, without the offset
  std::vector<bool> absent_;  ///< whether a group is absent
  std::vector<std::unique_ptr<ComponentCriterion>> components_;
  // Values at the last settled point:
  double loss_ = 0;
  SaturatedCounts::Value saturated_;
  double loss_by_tau_ = 0;
  double loss_by_tau_twice_ = 0;
  double penalised_deviance_ = 0;
};

}  // namespace TESSERA_NAMESPACE::gam
