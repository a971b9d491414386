// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/active_columns.hpp"
#include "gam/many/coefficient_search.hpp"
#include "gam/many/lane_square.hpp"
#include "gam/many/likelihood_sums.hpp"
#include "gam/many/penalty_sums.hpp"
#include "gam/many/response_fit.hpp"
#include "gam/many/small_cholesky.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Values of all parameters, and the coefficients at these values.
struct ManyPoint {
  std::vector<double> log_sp;  ///< log smoothing parameters; infinite: the term is at its limit
  double tau = 0;              ///< log(theta) or log(phi)
  bool poisson = false;        ///< theta is infinite
  std::vector<double> b;       ///< coefficients, by column of the design
  double value = 0;
};

/// Index of tau = log(theta) or log(phi) in lists of smoothing parameters.
inline constexpr int index_of_tau = -1;

/// A component's part of the derivatives of the criterion, and the derivatives of its coefficients, by the
/// free parameters of the component.
struct ComponentDerivatives {
  std::uint64_t version = 0;    ///< `ComponentCriterion::version_` of the derivatives
  std::vector<int> parameters;  ///< indices of smoothing parameters, then `index_of_tau` for nb
  std::vector<int> columns;     ///< design columns of the elements of `first[j]` and `second[k]`
  std::vector<double> gradient;
  Matrix hessian;
  // For a family with a scale, the caller must divide `penalty_gradient` and `penalty_hessian` by phi.
  std::vector<double> penalty_gradient;
  Matrix penalty_hessian;
  std::vector<std::vector<double>> first;   ///< derivatives of the coefficients by parameter
  std::vector<std::vector<double>> second;  ///< second derivatives of the coefficients by pairs j <= k
};

/// One component's part of the criterion. At given parameters, the coefficients of different components are
/// independent. Results for the last parameters are cached: a change of one component's smoothing parameter
/// needs no pass over the rows of other components.
class ComponentCriterion {
 public:
  /// The arguments must outlive this object. Not movable.
  ComponentCriterion(const SharedDesign& design, const DesignComponent& component);
  ComponentCriterion(const ComponentCriterion&) = delete;
  ComponentCriterion& operator=(const ComponentCriterion&) = delete;

  void set_response(LikelihoodSums& sums);

  /// Adds diag(X'WX) at the coefficients of a point; `to` is by design column.
  void add_information(ManyFamily family, double theta, const std::vector<bool>& absent,
                       const ManyPoint& point, std::vector<double>& to);

  /// Finds the coefficients at a point's parameters by Newton's method from the point's coefficients. Stops
  /// if the squared step in the metric of A is below `tolerance`. False on failure.
  [[nodiscard]] bool settle(ManyFamily family, double theta, const std::vector<bool>& absent,
                            ManyPoint& point, double tolerance);

  /// For each value of a smoothing parameter in `log_sp`, adds the component's part of the change of the
  /// criterion from the last settled point. `gains`: rise of the penalised log likelihood, by its quadratic
  /// approximation. `costs`: half of the change of the log determinants. Afterwards the point is no longer
  /// settled. Cost: a pass for X'WX if the parameter is at its limit.
  void add_changes(const ManyPoint& point, const std::vector<bool>& absent, int parameter,
                   std::span<const double> log_sp, std::vector<double>& gains, std::vector<double>& costs);

  // At the last settled point:
  [[nodiscard]] const LossDerivatives& loss() const noexcept { return loss_; }
  [[nodiscard]] double roughness() const noexcept { return roughness_; }  ///< b'Sb
  /// log|A| - log|S|+
  [[nodiscard]] double log_determinants() const { return factor_.log_determinant() - log_penalty_.value; }
  /// Computes the derivatives, unless `to` is up to date. Cost for m parameters: m + 1 passes over the rows,
  /// each about as long as a pass for X'WX.
  void differentiate(const ManyPoint& point, bool with_tau, ComponentDerivatives& to);
  /// Writes X'WX with expected weights, and A^-1, to `out`. Afterwards the point is no longer settled.
  [[nodiscard]] bool add_covariance(const ManyPoint& point, PearsonSums& pearson, double& edf,
                                    ResponseFit& out);

 private:
  [[nodiscard]] LikelihoodPoint likelihood() const { return {family_, theta_, active_}; }
  /// Computes the score and X'WX at coefficients b, unless the last sums were at b.
  void sum_rows(const std::vector<double>& b);
  [[nodiscard]] bool find_coefficients(const ManyPoint& point, double tolerance);
  void sum_penalties(const ManyPoint& point);
  void multiply_penalty();
  /// Factors A = X'WX + S; false if not positive definite.
  [[nodiscard]] bool factor();
  [[nodiscard]] bool is_settled(ManyFamily family, double theta, const ManyPoint& point,
                                double tolerance) const;
  void set_point(ManyFamily family, double theta, const std::vector<bool>& absent, const ManyPoint& point);
  void list_parameters(const ManyPoint& point, bool with_tau, std::vector<int>& to) const;
  void add_second_derivatives(const ManyPoint& point, ComponentDerivatives& to);

  const DesignComponent& component_;
  ActiveColumns active_;
  PenaltySums penalties_;
  LikelihoodSums* sums_ = nullptr;
  // Incremented if the parameters or coefficients change.
  std::uint64_t version_ = 0;
  bool has_sums_ = false;
  bool has_loss_ = false;
  bool is_settled_ = false;
  ManyFamily family_ = ManyFamily::nb;
  double theta_ = 0;
  std::vector<double> log_sp_;
  std::vector<double> b_;  ///< coefficients of the active columns
  double decrement_ = 0;   ///< squared length of the next Newton step
  std::vector<double> score_, gram_;
  std::vector<double> penalty_;  ///< sum of lambda S over all penalties, packed
  std::vector<double> hessian_;
  SmallCholesky factor_;
  LossDerivatives loss_;
  double roughness_ = 0;
  std::vector<double> by_tau_;  ///< X' d2l/(deta dtau)
  PenaltyTerm log_penalty_;
  std::vector<double> next_, from_, step_, gradient_;
  std::vector<double> product_;                 ///< S b
  std::vector<std::vector<double>> penalised_;  ///< lambda S b for each parameter
  std::vector<double> inverse_;                 ///< A^-1, packed
  WeightSums weight_sums_;
  std::vector<LaneSquare> by_parameter_;  ///< dA by each parameter
  std::vector<LaneSquare> scaled_;        ///< R^-T dA R^-1 for each parameter
};

}  // namespace TESSERA_NAMESPACE::gam
