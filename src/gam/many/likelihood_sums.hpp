// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/active_columns.hpp"
#include "gam/many/row_kernels.hpp"

#include <tessera/function.hpp>
#include <tessera/gam/matrix.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Arguments of the likelihood besides the coefficients.
struct LikelihoodPoint {
  ManyFamily family;
  double theta;
  const ActiveColumns& active;  ///< columns of the coefficients and sums: those of a component
};

/// Half of the deviance; for nb also derivatives by tau = log(theta).
struct LossDerivatives {
  double value = 0;
  double by_tau = 0;
  double by_tau_twice = 0;
};

/// Sums of derivatives of the weights w, with the leverages h = x'A^-1 x.
struct WeightSums {
  std::vector<std::vector<double>> grams;  ///< X' diag(dw) X for each parameter, packed
  std::vector<double> leverage_slope;      ///< X' (h dw/deta)
  std::vector<double> score_by_tau_twice;  ///< d/dtau of X' d2l/(deta dtau)
  /// Sum of h d2w by pair of parameters, without terms in second derivatives of the coefficients.
  Matrix leverage_sums;

  void set_zero(std::size_t parameters, int columns) {
    grams.resize(parameters);
    for (std::vector<double>& gram : grams) gram.assign(base::at(packed_size(columns)), 0);
    leverage_slope.assign(base::at(columns), 0);
    score_by_tau_twice.assign(base::at(columns), 0);
    leverage_sums = Matrix(static_cast<int>(parameters), static_cast<int>(parameters));
  }
};

/// Sums over the rows for the null model: an intercept and the offset.
struct NullDerivatives {
  double score = 0;   ///< sum of dl/deta
  double weight = 0;  ///< sum of w
};
/// Intercept of the null model by Newton's method. `at(level)` returns the sums at an intercept.
template <class At>
double find_null_level(double level, const At& at) {
  constexpr int most_steps = 50;
  for (int i = 0; i < most_steps; ++i) {
    const NullDerivatives sums = at(level);
    const double step = sums.score / sums.weight;
    level += std::clamp(step, -1.0, 1.0);
    // Quadratic convergence: the next step is about step^2, and changes the loss by about step^4.
    constexpr double negligible = 1e-4;
    if (!(std::abs(step) > negligible)) break;
  }
  return level;
}

/// Pearson sums for the scale, with the variance function V(mu).
struct PearsonSums {
  double squares = 0;  ///< sum of prior weight times (y - mu)^2/V
  double slopes = 0;   ///< sum of V'(mu) (y - mu)/V; only poisson and binomial, on the host
};

struct SettledCoefficients {
  bool is_settled;   ///< false: the search failed; other results are undefined
  double decrement;  ///< `CoefficientSearch::decrement`
  LossDerivatives loss;
};

/// Sums over the rows of one response. Each call is a pass over the rows of one component. Unless stated
/// otherwise, the pass is at the coefficients of the component's last `score_and_gram` or `settle`.
class LikelihoodSums {
 public:
  LikelihoodSums() = default;
  virtual ~LikelihoodSums() = default;
  LikelihoodSums(const LikelihoodSums&) = delete;
  LikelihoodSums& operator=(const LikelihoodSums&) = delete;

  /// Calls `work` for each index below `count`, in any order, possibly concurrently to batch the sums.
  virtual void for_each(std::size_t count, FunctionRef<void(std::size_t)> work) {
    for (std::size_t i = 0; i < count; ++i) work(i);
  }

  /// `y`, `weights` (prior weights) and `offset` are by slot, and must stay valid.
  virtual void set_response(std::span<const double> y, std::span<const double> weights,
                            std::span<const double> offset) = 0;
  /// X'(dl/deta), and X'WX with observed weights, at the coefficients `b`.
  virtual void score_and_gram(const LikelihoodPoint& point, const std::vector<double>& b,
                              std::vector<double>& score, std::vector<double>& gram) = 0;
  /// The loss; for nb also X' d2l/(deta dtau).
  [[nodiscard]] virtual LossDerivatives loss(const LikelihoodPoint& point, std::vector<double>& by_tau) = 0;
  /// Runs the whole `CoefficientSearch` from `b`, with the packed `penalty` S, then `score_and_gram` and
  /// `loss` at the final coefficients. Empty if the implementation needs separate passes.
  [[nodiscard]] virtual std::optional<SettledCoefficients> settle(
      const LikelihoodPoint& /*point*/, const std::vector<double>& /*penalty*/, double /*tolerance*/,
      std::vector<double>& /*b*/, std::vector<double>& /*score*/, std::vector<double>& /*gram*/,
      std::vector<double>& /*by_tau*/) {
    return {};
  }
  /// Computes `to`. `inverse`: A^-1, packed. `first`: derivatives of the coefficients by parameter; if
  /// `with_tau`, tau is last.
  virtual void weight_derivatives(const LikelihoodPoint& point, const std::vector<double>& inverse,
                                  const std::vector<std::vector<double>>& first, bool with_tau,
                                  WeightSums& to) = 0;
  /// X'WX with expected weights, in `gram`. Returns the Pearson sums.
  [[nodiscard]] virtual PearsonSums expected_gram(const LikelihoodPoint& point,
                                                  std::vector<double>& gram) = 0;
  /// The loss of the null model over all rows. Does not affect the other sums. `level`: initial intercept.
  [[nodiscard]] virtual double null_loss(ManyFamily family, double theta, double level) = 0;
};

}  // namespace TESSERA_NAMESPACE::gam
