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

/// A point of the search, at which the likelihood of a response is computed.
struct LikelihoodPoint {
  ManyFamily family;
  double theta;                 ///< theta of nb
  const ActiveColumns& active;  ///< columns of the coefficients and of all sums: those of a component
};

/// Half of the deviance; for nb with derivatives by tau = log(theta).
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
  /// For each pair of parameters: the sum of h d2w, without terms in the second derivatives of the
  /// coefficients.
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
/// Finds the intercept of the null model by Newton's method. `at(level)` returns the sums at an intercept.
template <class At>
double find_null_level(double level, const At& at) {
  constexpr int most_steps = 50;
  for (int i = 0; i < most_steps; ++i) {
    const NullDerivatives sums = at(level);
    const double step = sums.score / sums.weight;
    level += std::clamp(step, -1.0, 1.0);
    // The next step would have about the square of this step's size, and would change the loss by the square
    // of that.
    constexpr double negligible = 1e-4;
    if (!(std::abs(step) > negligible)) break;
  }
  return level;
}

/// Sums for the scale of a family, with the variance V(mu).
struct PearsonSums {
  double squares = 0;  ///< sum of prior weight times (y - mu)^2 / V
  double slopes = 0;   ///< sum of V' (y - mu) / V; only for variances of poisson and binomial, on the host
};

/// What `LikelihoodSums::settle` returns, except for the coefficients.
struct SettledCoefficients {
  bool is_settled;   ///< if false, the search failed, and the other results are undefined
  double decrement;  ///< `CoefficientSearch::decrement`
  LossDerivatives loss;
};

/// The sums over the rows of one response that its criterion needs. Each call is a pass over the rows of one
/// component, at the coefficients of the component's last `score_and_gram` or `settle`.
class LikelihoodSums {
 public:
  LikelihoodSums() = default;
  virtual ~LikelihoodSums() = default;
  LikelihoodSums(const LikelihoodSums&) = delete;
  LikelihoodSums& operator=(const LikelihoodSums&) = delete;

  /// Calls `work` for each index below `count`, in any order, possibly concurrently: sums of several
  /// components can then be computed together.
  virtual void for_each(std::size_t count, FunctionRef<void(std::size_t)> work) {
    for (std::size_t i = 0; i < count; ++i) work(i);
  }

  /// `y`, the prior weights and the offset are by slot of the design, and must stay valid.
  virtual void set_response(std::span<const double> y, std::span<const double> weights,
                            std::span<const double> offset) = 0;
  /// X'(dl/deta), and X'WX with the observed weights, at the coefficients `b`.
  virtual void score_and_gram(const LikelihoodPoint& point, const std::vector<double>& b,
                              std::vector<double>& score, std::vector<double>& gram) = 0;
  /// The loss, and for nb X' d2l/(deta dtau).
  [[nodiscard]] virtual LossDerivatives loss(const LikelihoodPoint& point, std::vector<double>& by_tau) = 0;
  /// The whole `CoefficientSearch` from `b` on, with the packed `penalty` S, followed by `score_and_gram` and
  /// `loss` at its last coefficients. Empty where separate passes are used instead.
  [[nodiscard]] virtual std::optional<SettledCoefficients> settle(
      const LikelihoodPoint& /*point*/, const std::vector<double>& /*penalty*/, double /*tolerance*/,
      std::vector<double>& /*b*/, std::vector<double>& /*score*/, std::vector<double>& /*gram*/,
      std::vector<double>& /*by_tau*/) {
    return {};
  }
  /// Sums of derivatives of the weights. `inverse`: A^-1, packed. `first`: derivatives of the coefficients by
  /// each parameter; with `with_tau`, the last parameter is tau.
  virtual void weight_derivatives(const LikelihoodPoint& point, const std::vector<double>& inverse,
                                  const std::vector<std::vector<double>>& first, bool with_tau,
                                  WeightSums& to) = 0;
  /// X'WX with the expected weights.
  [[nodiscard]] virtual PearsonSums expected_gram(const LikelihoodPoint& point,
                                                  std::vector<double>& gram) = 0;
  /// The loss of the null model (an intercept and the offset) over all rows. Does not affect the other sums.
  /// `level`: a first guess of the intercept.
  [[nodiscard]] virtual double null_loss(ManyFamily family, double theta, double level) = 0;
};

}  // namespace TESSERA_NAMESPACE::gam
