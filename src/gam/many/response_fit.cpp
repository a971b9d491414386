// SPDX-License-Identifier: Apache-2.0
#include "gam/many/response_fit.hpp"

#include "base/at.hpp"
#include "base/math/elementary.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/many/gaussian_spectrum.hpp"
#include "gam/many/host_likelihood_sums.hpp"
#include "gam/many/laplace_criterion.hpp"
#include "gam/many/search_rules.hpp"
#include "gam/many/small_cholesky.hpp"
#include "gam/many/spectra_by_missing_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

using base::at;

namespace {

constexpr int no_parameter = -2;

/// Range of log(theta): theta from about 1e-4 to 1e7.
constexpr double least_log_theta = -9.2;
constexpr double most_log_theta = 16.118;

/// Tolerances of the coefficients.
constexpr double exact = 1e-20;
constexpr double nearly_exact = 1e-14;
/// Maximum error of the criterion due to inexact coefficients.
constexpr double most_slack = 2e-4;

}  // namespace

/// Minimises the criterion, for successive responses.
class ResponseFitter::Search {
 public:
  Search(const SharedDesign& design, const ManyEstimator& estimator, std::unique_ptr<LikelihoodSums> sums)
      : design_(design),
        estimator_(estimator),
        criterion_(design, estimator, std::move(sums)),
        by_missing_rows_(design) {}

  ResponseFit fit(std::span<const double> values, const RowAdjustments& own) {
    ResponseFit out;
    if (estimator_.family == ManyFamily::gaussian && design_.spectrum && own.weights.empty() &&
        own.offsets.empty()) {
      // Most responses have no missing value: look for missing values only if the spectrum of all rows fails.
      if (fit_by(design_.spectrum.get(), values, out) || fit_by(by_missing_rows_.of(values), values, out))
        return out;
      out = {};
    }
    out.status = criterion_.set_response(values, own, out);
    if (out.status != ManyStatus::converged) return out;
    ManyPoint point = criterion_.start();
    origin_ = point.log_sp;
    reason_ = ManyReason::none;
    out.status = search(point, out.iterations);
    finish(point, out);
    return out;
  }

 private:
  /// False, with `out` undefined, if the spectrum is null or cannot fit the response.
  bool fit_by(const GaussianSpectrum* spectrum, std::span<const double> values, ResponseFit& out) {
    out = {};
    return spectrum != nullptr &&
           spectrum->fit(design_, estimator_.least_rows, values, spectrum_buffers_, out);
  }
  [[nodiscard]] double lower(int parameter) const {
    return parameter >= 0           ? origin_[at(parameter)] - range_below
           : criterion_.has_scale() ? -infinite
                                    : least_log_theta;
  }
  [[nodiscard]] double upper(int parameter) const {
    return parameter >= 0           ? origin_[at(parameter)] + range_above
           : criterion_.has_scale() ? infinite
                                    : most_log_theta;
  }
  static double& value_of(ManyPoint& point, int parameter) {
    return parameter >= 0 ? point.log_sp[at(parameter)] : point.tau;
  }
  /// Whether the model has a limit at an infinite parameter: a term without its penalised part, or Poisson.
  [[nodiscard]] bool has_limit(int parameter) const {
    return parameter >= 0 ? !design_.penalised[at(parameter)].empty() : !criterion_.has_scale();
  }
  static void go_to_limit(ManyPoint& point, int parameter) {
    if (parameter >= 0)
      point.log_sp[at(parameter)] = infinite;
    else
      point.poisson = true;
  }

  struct Step {
    std::vector<double> change;
    double predicted = 0;      ///< twice the decrease predicted by the quadratic model
    double largest_slope = 0;  ///< over the parameters not held at an end of their range
    std::vector<bool> held;
  };

  /// Newton step of the free parameters. False if the Hessian is not positive definite or the step is too
  /// long.
  bool solve_by_cholesky(const ManyDerivatives& at_point, const std::vector<int>& free,
                         std::vector<double>& change) {
    packed_.clear();
    for (std::size_t i = 0; i < free.size(); ++i) {
      for (std::size_t j = i; j < free.size(); ++j) packed_.push_back(at_point.hessian(free[i], free[j]));
    }
    if (!hessian_.factor(packed_, static_cast<int>(free.size()))) return false;
    std::vector<double> step;
    for (const int j : free) step.push_back(-at_point.gradient[at(j)]);
    hessian_.solve(step.data());
    if (!(largest(step) <= longest_step)) return false;
    for (std::size_t i = 0; i < free.size(); ++i) change[at(free[i])] = step[i];
    return true;
  }
  /// Newton step with the absolute values of the Hessian's eigenvalues.
  static void solve_by_eigenvalues(const ManyDerivatives& at_point, const std::vector<int>& free,
                                   std::vector<double>& change) {
    const auto n = static_cast<int>(free.size());
    Matrix hessian(n, n);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) hessian(i, j) = at_point.hessian(free[at(i)], free[at(j)]);
    }
    const SymmetricEigen eigen = symmetric_eigen(hessian);
    for (int k = 0; k < n; ++k) {
      double along = 0;
      for (int i = 0; i < n; ++i) along += eigen.vectors(i, k) * at_point.gradient[at(free[at(i)])];
      constexpr double least = 1e-9;
      along /= std::max(std::abs(eigen.values[at(k)]), least);
      for (int i = 0; i < n; ++i) change[at(free[at(i)])] -= along * eigen.vectors(i, k);
    }
  }

  /// Newton step; the Hessian is made positive definite if necessary.
  Step newton_step(ManyPoint& point, const ManyDerivatives& at_point) {
    Step step;
    std::vector<int> free;
    const std::size_t m = at_point.parameters.size();
    step.change.assign(m, 0);
    step.held.assign(m, false);
    for (std::size_t j = 0; j < m; ++j) {
      const int parameter = at_point.parameters[j];
      const double value = value_of(point, parameter);
      const double slope = at_point.gradient[j];
      step.held[j] = (value <= lower(parameter) && slope > 0) || (value >= upper(parameter) && slope < 0);
      if (step.held[j]) continue;
      free.push_back(static_cast<int>(j));
      step.largest_slope = std::max(step.largest_slope, std::abs(slope));
    }
    if (free.empty()) return step;
    if (!solve_by_cholesky(at_point, free, step.change)) solve_by_eigenvalues(at_point, free, step.change);
    step.predicted = -dot(step.change, at_point.gradient);
    return step;
  }

  /// A parameter x along which the criterion falls like c e^-x, so that its minimum is at infinity;
  /// `no_parameter` if none. The curvature is then minus the slope, and each Newton step has length 1. A
  /// parameter whose limit is not taken is returned again only at a much smaller slope.
  int parameter_near_limit(const ManyDerivatives& at_point, const Step& step) {
    for (std::size_t j = 0; j < at_point.parameters.size(); ++j) {
      const int parameter = at_point.parameters[j];
      const auto i = static_cast<int>(j);
      const double slope = at_point.gradient[j];
      const double curvature = at_point.hessian(i, i);
      if (!step.held[j] && has_limit(parameter) &&
          may_fall_to_limit(slope, curvature, slope_of_limit_[at(parameter + 1)]))
        return parameter;
    }
    return no_parameter;
  }

  ManyStatus search(ManyPoint& point, int& iterations) {
    leaves_ = 0;
    slope_of_limit_.assign(at(design_.parameters) + 1, first_slope_of_limit);
    constexpr double first_tolerance = 1e-8;
    if (!criterion_.settle(point, first_tolerance)) return failed(ManyReason::no_start);
    double slack = most_slack;
    bool is_exact = false;
    ManyDerivatives derivatives;
    for (iterations = 0; iterations < most_iterations; ++iterations) {
      criterion_.differentiate(point, derivatives);
      Step step = newton_step(point, derivatives);
      const int limit = parameter_near_limit(derivatives, step);
      constexpr double small_slope = 1e-7;
      constexpr double small_fall = 1e-9;
      constexpr double slope_at_rounding = 5e-8;
      constexpr double fall_at_rounding = 1e-7;
      // Rounding error of slopes at a large curvature, if the predicted fall is below `fall_of_rounding`.
      constexpr double slope_of_rounding = 1e-5;
      constexpr double fall_of_rounding = 1e-13;
      if (limit == no_parameter &&
          ((step.largest_slope < small_slope && step.predicted < small_fall) ||
           (step.largest_slope < slope_of_rounding && step.predicted < fall_of_rounding) ||
           (step.largest_slope < slope_at_rounding && step.predicted < fall_at_rounding && iterations > 0))) {
        if (enter_limits(point, derivatives, step) || leave_for_lower(point, derivatives)) continue;
        return polish(point, derivatives, step, slack);
      }
      if (limit != no_parameter && try_limit(point, derivatives, limit)) continue;
      if (descend(point, derivatives, step, slack)) {
        is_exact = false;
      } else {
        // Inexact coefficients may have lowered the criterion: recompute it with exact coefficients.
        if (!std::exchange(is_exact, true) && criterion_.settle(point, exact)) continue;
        // If a smoothing parameter is at the lower end of its range, rounding hides a small fall.
        const bool is_rounding =
            step.largest_slope < negligible_slope || step.predicted < std::max(limit_rounding, rounding_);
        return is_rounding ? settled(point, derivatives) : failed(ManyReason::no_step);
      }
    }
    return failed(ManyReason::iterations);
  }
  ManyStatus failed(ManyReason reason) {
    reason_ = reason;
    return ManyStatus::failed;
  }

  /// Moves a parameter to its limit if the criterion falls like c e^-x. The total fall is then about the
  /// slope; nine tenths of the fall are within the next log(10). Otherwise there may be a minimum before.
  bool try_limit(ManyPoint& point, const ManyDerivatives& derivatives, int limit) {
    const auto j = std::ranges::find(derivatives.parameters, limit) - derivatives.parameters.begin();
    const double expected = -derivatives.gradient[at(j)];
    ManyPoint between = point;
    value_of(between, limit) += base::log(10.0);
    ManyPoint next = between;
    go_to_limit(next, limit);
    if (criterion_.settle(between, nearly_exact) && criterion_.settle(next, nearly_exact) &&
        falls_by(point.value - next.value, expected) &&
        falls_by(between.value - next.value, 0.1 * expected)) {
      point = std::move(next);
      return true;
    }
    // The cached sums are at the refused point: settle the previous point again.
    static_cast<void>(criterion_.settle(point, nearly_exact));
    return false;
  }

  /// Moves a parameter to its limit if it is held at the upper end of its range, where the criterion is flat.
  bool enter_limits(ManyPoint& point, const ManyDerivatives& derivatives, const Step& step) {
    for (std::size_t j = 0; j < derivatives.parameters.size(); ++j) {
      const int parameter = derivatives.parameters[j];
      if (!step.held[j] || !has_limit(parameter) || derivatives.gradient[j] > 0) continue;
      ManyPoint next = point;
      go_to_limit(next, parameter);
      if (!criterion_.settle(next, nearly_exact) || !(next.value <= point.value + limit_rounding)) continue;
      point = std::move(next);
      return true;
    }
    return false;
  }

  /// Escapes a local minimum: moves a smoothing parameter to a value with a lower criterion. At a limit or a
  /// shallow minimum, tries values around the initial one; at any other minimum only the upper end of the
  /// range, where a second minimum often is. Returns whether a parameter moved.
  bool leave_for_lower(ManyPoint& point, const ManyDerivatives& derivatives) {
    constexpr double coarse = 1e-6;
    // Bounds the search if the criterion decreases without bound in a coefficient.
    constexpr int most_leaves = 4;
    std::vector<double> values;
    for (int j = 0; j < design_.parameters && leaves_ < most_leaves; ++j) {
      const bool is_free = std::ranges::find(derivatives.parameters, j) != derivatives.parameters.end();
      if (!is_free && point.log_sp[at(j)] != infinite) continue;
      const bool shallow = is_shallow(point, derivatives, j);
      if (shallow)
        values.assign(values_around_start.begin(), values_around_start.end());
      else
        values.assign(1, range_above);
      for (double& value : values) value += origin_[at(j)];
      if (!criterion_.settle(point, shallow ? nearly_exact : coarse)) return false;
      const std::vector<bool> may_be_lower = criterion_.may_be_lower(point, j, values);
      ManyPoint other = point;
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (!may_be_lower[i]) continue;
        other.log_sp[at(j)] = values[i];
        if (!criterion_.settle(other, coarse) || !(other.value < point.value - limit_rounding)) continue;
        point = std::move(other);
        ++leaves_;
        return true;
      }
    }
    static_cast<void>(criterion_.settle(point, coarse));
    return false;
  }
  static bool is_shallow(const ManyPoint& point, const ManyDerivatives& derivatives, int parameter) {
    if (point.log_sp[at(parameter)] == infinite) return true;
    const auto found = std::ranges::find(derivatives.parameters, parameter);
    if (found == derivatives.parameters.end()) return false;
    const auto j = static_cast<int>(found - derivatives.parameters.begin());
    constexpr double small = 0.02;
    return derivatives.hessian(j, j) < small;
  }

  /// Moves along the step, with step halving until the criterion is not higher. False if even steps too short
  /// to change the criterion make it higher. The rise is then rounding, and is stored in `rounding_`.
  bool descend(ManyPoint& point, const ManyDerivatives& derivatives, Step& step, double& slack) {
    const double size = largest(step.change);
    if (size > longest_step) {
      for (double& value : step.change) value *= longest_step / size;
    }
    constexpr double least_tolerance = 1e-17;
    constexpr double most_tolerance = 1e-8;
    constexpr double share = 4e-4;
    constexpr int first_of_rounding = 15;
    const double tolerance =
        std::clamp(share * step.predicted * step.predicted, least_tolerance, most_tolerance);
    rounding_ = 0;
    for (int halving = 0; halving < most_halvings; ++halving) {
      ManyPoint next = point;
      std::vector<double> change(step.change.size());
      for (std::size_t j = 0; j < change.size(); ++j) {
        const int parameter = derivatives.parameters[j];
        double& value = value_of(next, parameter);
        const double moved =
            std::clamp(value + std::ldexp(step.change[j], -halving), lower(parameter), upper(parameter));
        change[j] = moved - value;
        value = moved;
      }
      predict_coefficients(next, derivatives, change);
      if (!criterion_.settle(next, tolerance)) continue;
      const double rise = next.value - point.value;
      // Armijo condition; otherwise the search could alternate between two points of equal criterion.
      constexpr double least_share = 0.2;
      double least_fall = 0;
      for (std::size_t j = 0; j < change.size(); ++j)
        least_fall -= least_share * change[j] * derivatives.gradient[j];
      if (rise <= slack + criterion_rounding * (1 + std::abs(point.value)) - std::max(0.0, least_fall)) {
        slack = std::min(most_slack, 3 * std::sqrt(tolerance));
        point = std::move(next);
        return true;
      }
      if (halving >= first_of_rounding) rounding_ = std::max(rounding_, rise);
    }
    return false;
  }

  /// Extrapolates the coefficients along a short step: to second order, or to first if the second term is
  /// larger.
  static void predict_coefficients(ManyPoint& next, const ManyDerivatives& derivatives,
                                   const std::vector<double>& change) {
    constexpr double longest = 2;
    if (largest(change) >= longest) return;
    for (const ComponentDerivatives& component : derivatives.components) {
      std::vector<double> own;
      for (const int parameter : component.parameters)
        own.push_back(change[at(static_cast<int>(std::ranges::find(derivatives.parameters, parameter) -
                                                 derivatives.parameters.begin()))]);
      for (std::size_t i = 0; i < component.columns.size(); ++i) {
        double first = 0;
        double second = 0;
        std::size_t pair = 0;
        for (std::size_t j = 0; j < own.size(); ++j) {
          first += own[j] * component.first[j][i];
          for (std::size_t k = j; k < own.size(); ++k)
            second += (j == k ? 0.5 : 1.0) * own[j] * own[k] * component.second[pair++][i];
        }
        constexpr double small = 0.1;
        next.b[at(component.columns[i])] +=
            std::abs(second) < std::abs(first) + small ? first + second : first;
      }
    }
  }

  /// Makes one more step, with exact coefficients.
  ManyStatus polish(ManyPoint& point, const ManyDerivatives& derivatives, const Step& step, double slack) {
    ManyPoint next = point;
    constexpr double longest = 0.05;
    for (std::size_t j = 0; j < step.change.size(); ++j) {
      if (!step.held[j] && std::abs(step.change[j]) < longest)
        value_of(next, derivatives.parameters[j]) += step.change[j];
    }
    if (criterion_.settle(next, exact) && next.value <= point.value + slack) point = std::move(next);
    return settled(point, derivatives);
  }

  /// `unbounded` if a parameter is at the lower end of its range, or at the upper end, short of its limit.
  [[nodiscard]] ManyStatus settled(ManyPoint& point, const ManyDerivatives& derivatives) const {
    for (const int parameter : derivatives.parameters) {
      const double value = value_of(point, parameter);
      if (value <= lower(parameter) || (value >= upper(parameter) && has_limit(parameter)))
        return ManyStatus::unbounded;
    }
    return ManyStatus::converged;
  }

  void finish(ManyPoint& point, ResponseFit& out) {
    if (!criterion_.settle(point, exact) && out.status != ManyStatus::failed)
      out.status = failed(ManyReason::no_coefficients);
    out.reason = reason_;
    if (out.status == ManyStatus::failed) return;
    out.log_sp = point.log_sp;
    out.theta = estimator_.family != ManyFamily::nb ? 0 : point.poisson ? infinite : base::exp(point.tau);
    out.coef = point.b;
    criterion_.describe(point, out);
    // Covariance and tests need finite values near the limits.
    for (std::size_t j = 0; j < point.log_sp.size(); ++j) {
      if (point.log_sp[j] == infinite) point.log_sp[j] = origin_[j] + range_of_tests;
    }
    out.log_sp_of_tests = point.log_sp;
    if (!criterion_.settle(point, exact) || !criterion_.add_covariance(point, out))
      out = ResponseFit{.reason = ManyReason::no_covariance,
                        .rows = out.rows,
                        .iterations = out.iterations,
                        .mean = out.mean,
                        .zeros = out.zeros};
  }

  const SharedDesign& design_;
  ManyEstimator estimator_;
  LaplaceCriterion criterion_;
  GaussianSpectrum::Buffers spectrum_buffers_;
  SpectraByMissingRows by_missing_rows_;
  ManyReason reason_ = ManyReason::none;
  double rounding_ = 0;  ///< rounding of the criterion, from a failed `descend`
  int leaves_ = 0;       ///< moves of `leave_for_lower`
  SmallCholesky hessian_;
  std::vector<double> packed_;
  std::vector<double> origin_;          ///< initial log smoothing parameters
  std::vector<double> slope_of_limit_;  ///< `largest_slope` of `may_fall_to_limit`, at index parameter + 1
};

ResponseFitter::ResponseFitter(const SharedDesign& design, const ManyEstimator& estimator)
    : ResponseFitter(design, estimator, std::make_unique<HostLikelihoodSums>(design)) {}
ResponseFitter::ResponseFitter(const SharedDesign& design, const ManyEstimator& estimator,
                               std::unique_ptr<LikelihoodSums> sums)
    : search_(std::make_unique<Search>(design, estimator, std::move(sums))) {}
ResponseFitter::~ResponseFitter() = default;
ResponseFitter::ResponseFitter(ResponseFitter&&) noexcept = default;

ResponseFit ResponseFitter::fit(std::span<const double> values, const RowAdjustments& own) {
  return search_->fit(values, own);
}

}  // namespace TESSERA_NAMESPACE::gam
