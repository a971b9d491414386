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

/// Families with several linear predictors, such as a mean and a standard deviation.
namespace TESSERA_NAMESPACE::gam {

struct ResponseProbabilities {
  double below = 0;  ///< P(Y < y)
  double up_to = 0;  ///< P(Y <= y)
};

/// A block of rows with outputs. `eta[p * stride + r]` is predictor p of row r; same layout for derivatives.
struct SeveralRows {
  int count = 0;
  int stride = 0;
  const double* response = nullptr;
  const double* prior = nullptr;
  const double* eta = nullptr;
  double* log_likelihood = nullptr;  ///< times the prior weight; -infinity outside the support
  double* gradient = nullptr;        ///< derivatives with respect to the predictors; null: none wanted
  double* weights = nullptr;         ///< minus the second derivatives: upper triangle, row by row
};

/// A family with a fixed number of linear predictors and no scale. Members for a single mean return NaN.
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

  [[nodiscard]] virtual int predictors() const = 0;
  /// What the predictors determine, for messages.
  [[nodiscard]] virtual std::string meaning() const = 0;
  /// The link of each predictor, in mgcv's names.
  [[nodiscard]] virtual std::vector<std::string> links() const = 0;
  /// Number of levels of a factor response; 0: the response is a number.
  [[nodiscard]] virtual int classes() const { return 0; }
  /// Why a finite number is invalid; null if valid.
  [[nodiscard]] virtual const char* response_fault(double y) const = 0;
  /// Initial constant predictors. `level`: mean and standard deviation of all responses.
  [[nodiscard]] virtual std::vector<double> first_predictors(const ResponseLevel& level) const = 0;
  /// Predictor that the first steps keep at its initial value, because it is identifiable only near the
  /// estimates of the others; -1: none.
  [[nodiscard]] virtual int late_predictor() const { return -1; }
  /// Log likelihoods of the rows and, if requested, derivatives with respect to the predictors.
  virtual void evaluate(const SeveralRows& rows) const = 0;
  /// CUDA C++ source of `family_of(parameters)`, the first argument of `row_log_likelihood`.
  [[nodiscard]] virtual std::string device_source() const = 0;
  [[nodiscard]] virtual NullPredictors null_predictors() const = 0;
  /// The first linear predictor at which the mean is `mean`; only for `NullPredictors::mean`.
  [[nodiscard]] virtual double predictor_of_mean(double mean) const = 0;
  /// mgcv's squared deviance residual for prior weight 1.
  [[nodiscard]] virtual double squared_residual(double y, std::span<const double> eta) const = 0;

  /// The p-quantile of a response or class number; 0 < p < 1.
  [[nodiscard]] virtual double quantile(double p, std::span<const double> eta) const = 0;
  [[nodiscard]] virtual double draw(std::span<const double> eta, base::RandomPlace& random) const;

  /// Columns of predictions on the response scale, as in predict.gam: suffixes, and the values of a row.
  /// `levels`: those of the response. `jacobian`: columns x predictors, row-major; empty if not wanted.
  [[nodiscard]] virtual std::vector<std::string> outputs(std::span<const std::string> levels) const = 0;
  virtual void respond(std::span<const double> eta, std::span<double> values,
                       std::span<double> jacobian) const = 0;

  /// Whether the family defines `level`, which all but deviance residuals need. For classes `level` is NaN.
  [[nodiscard]] virtual bool has_level() const { return true; }
  [[nodiscard]] virtual ResponseLevel level(std::span<const double> eta) const = 0;
  [[nodiscard]] virtual ResponseProbabilities probabilities(double y, std::span<const double> eta) const = 0;

  [[nodiscard]] virtual double residual_side(double y, std::span<const double> eta) const = 0;
  [[nodiscard]] double deviance_residual(double y, double prior, std::span<const double> eta) const {
    return std::copysign(std::sqrt(prior * std::max(squared_residual(y, eta), 0.0)), residual_side(y, eta));
  }

  /// TOML text of a user's family; empty for a built-in family.
  [[nodiscard]] virtual std::string toml() const { return {}; }

  const std::string name;  ///< mgcv's name
  const std::string text;  ///< call that parses to this family: "gaulss(b=0.02)"
};

/// Calls `row(y, eta, scores, curvatures)` for each row, like `row_log_likelihood`.
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

/// Column suffixes of classes: `levels`, or numbers from `first` if empty.
[[nodiscard]] std::vector<std::string> class_suffixes(int first, int classes,
                                                      std::span<const std::string> levels);

inline std::optional<double> predictor_of(const SeveralFamily& /*family*/, double /*mean*/) {
  return std::nullopt;
}

struct SeveralArgument {
  std::string name;  ///< empty: by position
  std::vector<double> numbers;
  std::vector<std::string> words{};
};

[[nodiscard]] std::vector<std::string_view> several_family_names();
/// Null for an unknown name. Throws `Error(usage)` for an unknown argument.
[[nodiscard]] std::shared_ptr<const SeveralFamily> several_family(const std::string& name,
                                                                  std::span<const SeveralArgument> arguments);

}  // namespace TESSERA_NAMESPACE::gam
