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
  double theta;                 ///< for nb
  const ActiveColumns& active;  ///< columns of a component, for the coefficients and all sums
};

/// The negative log likelihood, without terms that depend only on the response; for nb with derivatives by
/// tau = log(theta).
struct LossDerivatives {
  double value = 0;
  double by_tau = 0;
  double by_tau_twice = 0;
};

/// Sums of derivatives of the weights w. h: leverages x'A^-1 x.
struct WeightSums {
  std::vector<std::vector<double>> grams;  ///< by parameter: X' diag(dw) X, packed
  std::vector<double> leverage_slope;      ///< X' (h dw/deta)
  std::vector<double> score_by_tau_twice;  ///< d/dtau of X' d2l/(deta dtau)
  /// By two parameters: the sum of h d2w, without terms in the second derivatives of the coefficients.
  Matrix leverage_sums;

  void set_zero(std::size_t parameters, int columns) {
    grams.resize(parameters);
    for (std::vector<double>& gram : grams) gram.assign(base::at(packed_size(columns)), 0);
    leverage_slope.assign(base::at(columns), 0);
    score_by_tau_twice.assign(base::at(columns), 0);
    leverage_sums = Matrix(static_cast<int>(parameters), static_cast<int>(parameters));
  }
};

/// Sums over the rows for a model with an intercept and the offset.
struct NullDerivatives {
  double score = 0;   ///< dl/deta
  double weight = 0;  ///< w
};
/// The intercept of this model, by Newton's method. `at(level)` returns the sums at an intercept.
template <class At>
double find_null_level(double level, const At& at) {
  constexpr int most_steps = 50;
  for (int i = 0; i < most_steps; ++i) {
    const NullDerivatives sums = at(level);
    const double step = sums.score / sums.weight;
    level += std::clamp(step, -1.0, 1.0);
    // The next Newton step would have the size of this step's square, and would change the loss by the square
    // of that.
    constexpr double negligible = 1e-4;
    if (!(std::abs(step) > negligible)) break;
  }
  return level;
}

/// For a family with a scale, with the variance V(mu).
struct PearsonSums {
  double squares = 0;  ///< prior weight (y - mu)^2 / V
  double slopes = 0;   ///< V' (y - mu) / V; only of poisson and binomial variances on the host
};

/// What `LikelihoodSums::settle` finds beside the coefficients.
struct SettledCoefficients {
  bool is_settled;   ///< otherwise the search failed, and nothing else has a meaning
  double decrement;  ///< `CoefficientSearch::decrement`
  LossDerivatives loss;
};

/// The sums over the rows of one response that its criterion needs. Each is a pass over the rows of one
/// component, at its coefficients of the last `score_and_gram`.
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

  /// `y`, the prior weights and the offset, by slot of the design, must stay valid.
  virtual void set_response(std::span<const double> y, std::span<const double> weights,
                            std::span<const double> offset) = 0;
  /// X'(dl/deta), and X'WX with the observed weights, at the coefficients `b`.
  virtual void score_and_gram(const LikelihoodPoint& point, const std::vector<double>& b,
                              std::vector<double>& score, std::vector<double>& gram) = 0;
  /// The loss, and for nb X' d2l/(deta dtau).
  [[nodiscard]] virtual LossDerivatives loss(const LikelihoodPoint& point, std::vector<double>& by_tau) = 0;
  /// Where this is faster: the whole `CoefficientSearch` from `b`, with the packed `penalty` S, and all of
  /// `score_and_gram` and `loss` at its end. Otherwise empty.
  [[nodiscard]] virtual std::optional<SettledCoefficients> settle(
      const LikelihoodPoint& /*point*/, const std::vector<double>& /*penalty*/, double /*tolerance*/,
      std::vector<double>& /*b*/, std::vector<double>& /*score*/, std::vector<double>& /*gram*/,
      std::vector<double>& /*by_tau*/) {
    return {};
  }
  /// Sums of derivatives of the weights. `inverse`: A^-1, packed. `first`: derivatives of the coefficients by
  /// each parameter, the last by tau if `with_tau`.
  virtual void weight_derivatives(const LikelihoodPoint& point, const std::vector<double>& inverse,
                                  const std::vector<std::vector<double>>& first, bool with_tau,
                                  WeightSums& to) = 0;
  /// X'WX with the expected weights.
  [[nodiscard]] virtual PearsonSums expected_gram(const LikelihoodPoint& point,
                                                  std::vector<double>& gram) = 0;
  /// The loss over all rows of the null model: an intercept and the offset. Does not affect the other sums.
  /// `level`: a first guess of the intercept.
  [[nodiscard]] virtual double null_loss(ManyFamily family, double theta, double level) = 0;
};

}  // namespace TESSERA_NAMESPACE::gam
