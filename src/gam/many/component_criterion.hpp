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

/// Values of all parameters, with the coefficients at these values.
struct ManyPoint {
  std::vector<double> log_sp;  ///< log smoothing parameters; infinite: a term at its limit
  double tau = 0;              ///< log(theta) or log(phi)
  bool poisson = false;        ///< whether theta is infinite
  std::vector<double> b;       ///< coefficients, by column of the design
  double value = 0;            ///< value of the criterion
};

/// Represents log(theta) or log(phi) among the indices of smoothing parameters.
inline constexpr int index_of_tau = -1;

/// What a component contributes to the derivatives of the criterion, from its rows and its penalties; and the
/// derivatives of its coefficients. Both are with respect to the free parameters on which the component
/// depends.
struct ComponentDerivatives {
  std::uint64_t version = 0;    ///< `ComponentCriterion::version_` for which the derivatives were computed
  std::vector<int> parameters;  ///< indices of smoothing parameters, then `index_of_tau` for nb
  std::vector<int> columns;     ///< columns of the coefficients in `first` and `second`
  std::vector<double> gradient;
  Matrix hessian;
  // For a family with a scale, the reader divides these two by phi.
  std::vector<double> penalty_gradient;
  Matrix penalty_hessian;
  std::vector<std::vector<double>> first;   ///< derivatives of the coefficients, by parameter
  std::vector<std::vector<double>> second;  ///< second derivatives, by pairs of parameters j <= k
};

/// What one component contributes to the criterion: at given parameters, the coefficients of different
/// components are independent. Results for the last parameters are kept, so that changing a smoothing
/// parameter of one component needs no pass over the rows of other components.
class ComponentCriterion {
 public:
  /// The arguments must outlive this object, which must not be moved.
  ComponentCriterion(const SharedDesign& design, const DesignComponent& component);
  ComponentCriterion(const ComponentCriterion&) = delete;
  ComponentCriterion& operator=(const ComponentCriterion&) = delete;

  /// Begins the fit of a response.
  void set_response(LikelihoodSums& sums);

  /// Adds the diagonal of X'WX at the coefficients of a point, by column of the design.
  void add_information(ManyFamily family, double theta, const std::vector<bool>& absent,
                       const ManyPoint& point, std::vector<double>& to);

  /// Finds the coefficients for the parameters of a point, by Newton's method from the point's coefficients,
  /// until the squared step in the metric of A is below `tolerance`. False on failure.
  [[nodiscard]] bool settle(ManyFamily family, double theta, const std::vector<bool>& absent,
                            ManyPoint& point, double tolerance);

  /// For each value of a smoothing parameter in `log_sp`, adds what the component contributes to the change
  /// of the criterion from the last settled point. `gains`: by how much the penalised log likelihood rises,
  /// in its quadratic approximation at that point. `costs`: half of the change of the log determinants. The
  /// point is not settled afterwards. Cost: a pass for X'WX if the parameter is at its limit.
  void add_changes(const ManyPoint& point, const std::vector<bool>& absent, int parameter,
                   std::span<const double> log_sp, std::vector<double>& gains, std::vector<double>& costs);

  // Quantities at the last settled point:
  [[nodiscard]] const LossDerivatives& loss() const noexcept { return loss_; }
  [[nodiscard]] double roughness() const noexcept { return roughness_; }  ///< b'Sb
  /// log|A| - log|S|+
  [[nodiscard]] double log_determinants() const { return factor_.log_determinant() - log_penalty_.value; }
  /// Derivatives, unless `to` has them. Cost for m parameters: m + 1 passes over the rows, each like that for
  /// X'WX.
  void differentiate(const ManyPoint& point, bool with_tau, ComponentDerivatives& to);
  /// Adds X'WX and the covariance, with expected weights. The point is not settled afterwards.
  [[nodiscard]] bool add_covariance(const ManyPoint& point, PearsonSums& pearson, double& edf,
                                    ResponseFit& out);

 private:
  [[nodiscard]] LikelihoodPoint likelihood() const { return {family_, theta_, active_}; }
  /// Sums the score and X'WX at coefficients b, unless the last sums were at b.
  void sum_rows(const std::vector<double>& b);
  [[nodiscard]] bool find_coefficients(const ManyPoint& point, double tolerance);
  /// `penalty_` = S for all penalties.
  void sum_penalties(const ManyPoint& point);
  /// `product_` = S b.
  void multiply_penalty();
  /// Factors X'WX + S; false if not positive definite.
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
  // Counts changes of the parameters and coefficients for which the sums and the factor were computed.
  std::uint64_t version_ = 0;
  bool has_sums_ = false;
  bool has_loss_ = false;
  bool is_settled_ = false;
  ManyFamily family_ = ManyFamily::nb;
  double theta_ = 0;
  std::vector<double> log_sp_;        ///< log smoothing parameters of the component
  std::vector<double> b_;             ///< coefficients of the active columns
  double decrement_ = 0;              ///< squared length of the next step
  std::vector<double> score_, gram_;  ///< score and X'WX
  std::vector<double> penalty_;       ///< S for all penalties, packed
  std::vector<double> hessian_;
  SmallCholesky factor_;
  LossDerivatives loss_;
  double roughness_ = 0;
  std::vector<double> by_tau_;  ///< X' d2l/(deta dtau)
  PenaltyTerm log_penalty_;
  // Buffers.
  std::vector<double> next_, from_, step_, gradient_;
  std::vector<double> product_;                 ///< S b
  std::vector<std::vector<double>> penalised_;  ///< lambda S b for each parameter
  std::vector<double> inverse_;                 ///< A^-1, packed
  WeightSums weight_sums_;
  std::vector<LaneSquare> by_parameter_;  ///< derivative of A by each parameter
  std::vector<LaneSquare> scaled_;        ///< R^-T dA R^-1 for each parameter
};

}  // namespace TESSERA_NAMESPACE::gam
