// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/active_columns.hpp"
#include "gam/many/lane_square.hpp"
#include "gam/many/likelihood_sums.hpp"
#include "gam/many/penalty_sums.hpp"
#include "gam/many/response_fit.hpp"
#include "gam/many/small_cholesky.hpp"

#include <cstdint>
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

/// What the rows and penalties of a component add to the derivatives of the criterion, and the derivatives of
/// its coefficients, by the free parameters that it depends on.
struct ComponentDerivatives {
  std::uint64_t version = 0;    ///< of the component that they belong to
  std::vector<int> parameters;  ///< indices of smoothing parameters, then `index_of_tau` of nb
  std::vector<int> columns;     ///< the active columns
  std::vector<double> gradient;
  Matrix hessian;
  // For a scale phi these are divided by phi; in other families added as they are.
  std::vector<double> penalty_gradient;
  Matrix penalty_hessian;
  std::vector<std::vector<double>> first;   ///< of the coefficients, by parameter
  std::vector<std::vector<double>> second;  ///< by pairs of parameters j <= k
};

/// The part of the criterion of one component: at given parameters its coefficients are independent of the
/// others'. What was found for the last parameters is kept: a change of the smoothing parameter of one
/// component costs no pass over the rows of another.
class ComponentCriterion {
 public:
  /// The arguments must outlive it, and it stays where it is.
  ComponentCriterion(const SharedDesign& design, const DesignComponent& component);
  ComponentCriterion(const ComponentCriterion&) = delete;
  ComponentCriterion& operator=(const ComponentCriterion&) = delete;

  /// Begins with a response.
  void set_response(LikelihoodSums& sums);

  /// The diagonal of X'WX at the coefficients of a point is added by column of the design.
  void add_information(ManyFamily family, double theta, const std::vector<bool>& absent,
                       const ManyPoint& point, std::vector<double>& to);

  /// Finds the coefficients at the parameters of a point, by Newton's method from its coefficients, until the
  /// squared step in the metric of A is below `tolerance`. False on failure.
  [[nodiscard]] bool settle(ManyFamily family, double theta, const std::vector<bool>& absent,
                            ManyPoint& point, double tolerance);

  // At the last settled point:
  [[nodiscard]] const LossDerivatives& loss() const noexcept { return loss_; }
  [[nodiscard]] double roughness() const noexcept { return roughness_; }  ///< b'Sb
  /// log|A| - log|S|+
  [[nodiscard]] double log_determinants() const { return factor_.log_determinant() - log_penalty_.value; }
  /// Derivatives, unless `to` has them already. Cost: for m parameters, m + 1 passes like the pass for X'WX.
  void differentiate(const ManyPoint& point, bool with_tau, ComponentDerivatives& to);
  /// X'WX and the covariance, with expected weights. The point is not settled afterwards.
  [[nodiscard]] bool add_covariance(const ManyPoint& point, PearsonSums& pearson, double& edf,
                                    ResponseFit& out);

 private:
  [[nodiscard]] LikelihoodPoint likelihood() const { return {family_, theta_, active_}; }
  /// The score and X'WX at coefficients, unless these are the last ones.
  void sum_rows(const std::vector<double>& b);
  [[nodiscard]] bool find_coefficients(const ManyPoint& point, double tolerance);
  [[nodiscard]] bool is_settled(ManyFamily family, double theta, const ManyPoint& point,
                                double tolerance) const;
  void set_point(ManyFamily family, double theta, const std::vector<bool>& absent, const ManyPoint& point);
  void list_parameters(const ManyPoint& point, bool with_tau, std::vector<int>& to) const;
  void add_second_derivatives(const ManyPoint& point, ComponentDerivatives& to);

  const DesignComponent& component_;
  ActiveColumns active_;
  PenaltySums penalties_;
  LikelihoodSums* sums_ = nullptr;
  // The parameters and coefficients that the sums and the factor belong to.
  std::uint64_t version_ = 0;
  bool has_sums_ = false;
  bool has_loss_ = false;
  bool is_settled_ = false;
  ManyFamily family_ = ManyFamily::nb;
  double theta_ = 0;
  std::vector<double> log_sp_;        ///< by parameter of the component
  std::vector<double> b_;             ///< by active column
  double decrement_ = 0;              ///< the squared step from here
  std::vector<double> score_, gram_;  ///< of the likelihood
  std::vector<double> hessian_;
  SmallCholesky factor_;
  LossDerivatives loss_;
  double roughness_ = 0;
  std::vector<double> by_tau_;  ///< X' d2l/(deta dtau)
  PenaltyTerm log_penalty_;
  // Buffers.
  std::vector<double> next_, from_, step_, gradient_;
  std::vector<double> product_;                 ///< S b
  std::vector<std::vector<double>> penalised_;  ///< by parameter: lambda S b
  std::vector<double> inverse_;                 ///< A^-1, packed
  WeightSums weight_sums_;
  std::vector<LaneSquare> by_parameter_;  ///< dA
  std::vector<LaneSquare> scaled_;        ///< R^-T dA R^-1
};

}  // namespace TESSERA_NAMESPACE::gam
