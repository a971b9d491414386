// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/parts.hpp"
#include "gam/family/several_row.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::base {
class RandomPlace;
}

/// Families whose response depends on several linear predictors, such as a mean and a spread.
namespace TESSERA_NAMESPACE::gam {

/// Probabilities of the responses up to a given one.
struct ResponseProbabilities {
  double below = 0;  ///< P(Y < y)
  double up_to = 0;  ///< P(Y <= y)
};

/// Some rows, and what a pass needs of them. Predictor p of row r is `eta[p * stride + r]`, and likewise for
/// derivatives.
struct SeveralRows {
  int count = 0;
  int stride = 0;
  const double* response = nullptr;
  const double* prior = nullptr;
  const double* eta = nullptr;
  double* log_likelihood = nullptr;  ///< times the prior weight; minus infinity outside the support
  double* gradient = nullptr;        ///< first derivatives; null: none are wanted
  double* weights = nullptr;         ///< minus the second ones: the upper triangle, row by row
};

/// A family with a fixed number of linear predictors. Its log likelihood has no scale, and is written once
/// (jet.hpp). As a `RowFamily` it has no mean, so that these parts are NaN.
class SeveralFamily {
 public:
  static constexpr bool linear = false;
  static constexpr Start start = Start::mean;
  static constexpr Limits limits{};
  static constexpr bool two_levels = false;
  static constexpr bool scale_is_known = true;
  static constexpr char residuals[] = "";
  static double mean(double /*eta*/) { return std::numeric_limits<double>::quiet_NaN(); }
  static double derivative(double /*eta*/) { return std::numeric_limits<double>::quiet_NaN(); }
  static double variance(double /*mu*/) { return std::numeric_limits<double>::quiet_NaN(); }
  static double weight(double /*prior*/, double /*mu*/, double /*slope*/) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  static double deviance(double /*y*/, double /*mu*/, double /*prior*/) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  static double aic_scale(double /*deviance*/, double /*rows*/, double /*scale*/) { return 1; }
  static double minus_two_log_likelihood(double /*y*/, double /*mu*/, double /*weight*/, double /*scale*/) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  static bool likelihood_rounds(double /*y*/, double /*weight*/) { return false; }

  SeveralFamily(std::string the_name, std::string the_text)
      : name(std::move(the_name)), text(std::move(the_text)) {}
  virtual ~SeveralFamily() = default;
  SeveralFamily(const SeveralFamily&) = delete;
  SeveralFamily& operator=(const SeveralFamily&) = delete;

  /// Number of linear predictors.
  [[nodiscard]] virtual int predictors() const = 0;
  /// What each predictor determines, as one text for messages.
  [[nodiscard]] virtual std::string meaning() const = 0;
  /// The link of each predictor, as mgcv names it.
  [[nodiscard]] virtual std::vector<std::string> links() const = 0;
  /// Number of levels of a factor that is a response; 0: the response is a number.
  [[nodiscard]] virtual int classes() const { return 0; }
  /// Why a finite number is no response; null: it is one.
  [[nodiscard]] virtual const char* response_fault(double y) const = 0;
  /// Constant predictors from which a fit starts, for the responses' level.
  [[nodiscard]] virtual std::vector<double> first_predictors(const ResponseLevel& level) const = 0;
  /// A predictor that the first steps leave where it starts, because the likelihood tells it from the others
  /// only near their estimates; -1: none.
  [[nodiscard]] virtual int late_predictor() const { return -1; }
  /// Log likelihoods of the rows and, where wanted, their derivatives by the predictors.
  virtual void evaluate(const SeveralRows& rows) const = 0;
  /// CUDA C++ source that defines `family_of(parameters)`, an object of which `row_log_likelihood` takes
  /// rows.
  [[nodiscard]] virtual std::string device_source() const = 0;
  [[nodiscard]] virtual NullPredictors null_predictors() const = 0;
  /// The first predictor for a mean; only for `NullPredictors::mean`.
  [[nodiscard]] virtual double predictor_of_mean(double mean) const = 0;
  /// The square of the deviance residual of mgcv, with prior weight 1.
  [[nodiscard]] virtual double squared_residual(double y, std::span<const double> eta) const = 0;

  /// The p-quantile of a response, of a class its number; 0 < p < 1.
  [[nodiscard]] virtual double quantile(double p, std::span<const double> eta) const = 0;
  /// Draws a response.
  [[nodiscard]] virtual double draw(std::span<const double> eta, base::RandomPlace& random) const;

  /// Columns of predictions on the scale of the response, as `predict.gam` has them: their suffixes, with
  /// `levels` of the response, and their values in a row. `jacobian`: columns x predictors, row by row;
  /// empty: not wanted.
  [[nodiscard]] virtual std::vector<std::string> outputs(std::span<const std::string> levels) const = 0;
  virtual void respond(std::span<const double> eta, std::span<double> values,
                       std::span<double> jacobian) const = 0;

  /// Whether residuals other than those of the deviance are defined; for classes they are NaN.
  [[nodiscard]] virtual bool has_level() const { return true; }
  /// Mean and standard deviation of a response; NaN for a class.
  [[nodiscard]] virtual ResponseLevel level(std::span<const double> eta) const = 0;
  [[nodiscard]] virtual ResponseProbabilities probabilities(double y, std::span<const double> eta) const = 0;

  /// A number with the sign of the deviance residual.
  [[nodiscard]] virtual double residual_side(double y, std::span<const double> eta) const = 0;
  /// The deviance residual of mgcv.
  [[nodiscard]] double deviance_residual(double y, double prior, std::span<const double> eta) const {
    return std::copysign(std::sqrt(prior * std::max(squared_residual(y, eta), 0.0)), residual_side(y, eta));
  }

  /// The text of a user's file; empty: a built-in family.
  [[nodiscard]] virtual std::string toml() const { return {}; }

  const std::string name;  ///< mgcv's
  const std::string text;  ///< as it is written in a call: "gaulss(b=0.02)"
};

/// Calls `row(y, eta, scores, curvatures)`, as `row_log_likelihood`, for each row.
template <class Row>
void evaluate_rows(int predictors, const SeveralRows& rows, const Row& row) {
  std::vector<double> eta(static_cast<std::size_t>(predictors));
  std::vector<double> scores(eta.size());
  std::vector<double> curvatures(static_cast<std::size_t>(predictor_pairs(predictors)));
  const bool derivatives = rows.gradient != nullptr;
  for (int r = 0; r < rows.count; ++r) {
    for (int p = 0; p < predictors; ++p) eta[static_cast<std::size_t>(p)] = rows.eta[p * rows.stride + r];
    const double prior = rows.prior[r];
    rows.log_likelihood[r] = prior * row(rows.response[r], eta.data(), derivatives ? scores.data() : nullptr,
                                         derivatives ? curvatures.data() : nullptr);
    if (!derivatives) continue;
    for (int p = 0; p < predictors; ++p)
      rows.gradient[p * rows.stride + r] = prior * scores[static_cast<std::size_t>(p)];
    for (std::size_t k = 0; k < curvatures.size(); ++k)
      rows.weights[static_cast<std::ptrdiff_t>(k) * rows.stride + r] = prior * curvatures[k];
  }
}

/// The suffixes of the columns of classes, with these levels or numbered from `first`.
[[nodiscard]] std::vector<std::string> class_suffixes(int first, int classes,
                                                      std::span<const std::string> levels);

inline std::optional<double> predictor_of(const SeveralFamily& /*family*/, double /*mean*/) {
  return std::nullopt;
}

/// An argument of a family's call.
struct SeveralArgument {
  std::string name;  ///< empty: by position
  std::vector<double> numbers;
  std::vector<std::string> words{};
};

/// The names of all families with several predictors.
[[nodiscard]] std::vector<std::string_view> several_family_names();
/// The family of a call; null if there is none of this name. Throws `Error(usage)` for an argument that it
/// does not have.
[[nodiscard]] std::shared_ptr<const SeveralFamily> several_family(const std::string& name,
                                                                  std::span<const SeveralArgument> arguments);

}  // namespace TESSERA_NAMESPACE::gam
