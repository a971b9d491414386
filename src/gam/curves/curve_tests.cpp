// SPDX-License-Identifier: Apache-2.0
#include "base/errors.hpp"
#include "gam/curves/contrast_test.hpp"
#include "gam/curves/curve_contrasts.hpp"
#include "gam/curves/curve_fits.hpp"
#include "gam/inference/distributions.hpp"
#include "gam/inference/false_discovery.hpp"
#include "gam/linalg/submatrix.hpp"
#include "gam/model/model.hpp"

#include <tessera/gam/curves.hpp>
#include <tessera/job/together.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <span>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

namespace {

constexpr double untested = std::numeric_limits<double>::quiet_NaN();

/// The parts of a test with the contrasts of all of them.
class CurveTester {
 public:
  CurveTester(std::vector<CurveContrasts> parts, const CurveTestOptions& options, bool is_log)
      : parts_(std::move(parts)), options_(options), unit_(is_log ? std::numbers::ln2 : 1) {
    for (const CurveContrasts& part : parts_) tests_.emplace_back(part.contrasts);
    joint_.emplace(joined(std::vector<bool>(parts_.size(), true)));
  }

  [[nodiscard]] const std::vector<CurveContrasts>& parts() const noexcept { return parts_; }
  /// Statistic, df and p value of all parts together, then these and the size of each part.
  [[nodiscard]] std::vector<double> values_of(std::span<const double> coef, const Matrix& covariance) const {
    std::vector<double> values(3 + 4 * parts_.size(), untested);
    if (std::ranges::any_of(covariance.values(), [](double one) { return std::isnan(one); })) return values;
    // A coefficient of a curve at minus infinity is NaN: the others do not depend on it.
    std::vector<double> known(coef.begin(), coef.end());
    for (double& one : known) one = std::isnan(one) ? 0 : one;
    std::vector<bool> tested;
    for (const CurveContrasts& part : parts_) tested.push_back(are_known(part.contrasts, coef));
    const auto count = std::ranges::count(tested, true);
    if (count == 0) return values;
    set(values, 0, count == std::ssize(tested) ? *joint_ : ContrastTest(joined(tested)), known, covariance);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!tested[i]) continue;
      set(values, 3 + 4 * i, tests_[i], known, covariance);
      values[6 + 4 * i] = size_of(tests_[i].estimates(known));
    }
    return values;
  }

 private:
  [[nodiscard]] Matrix joined(const std::vector<bool>& chosen) const {
    int columns = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) columns += chosen[i] ? parts_[i].contrasts.cols() : 0;
    Matrix all(parts_.front().contrasts.rows(), columns);
    int begin = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!chosen[i]) continue;
      assign(all, 0, begin, parts_[i].contrasts);
      begin += parts_[i].contrasts.cols();
    }
    return all;
  }
  void set(std::vector<double>& values, std::size_t first, const ContrastTest& test,
           std::span<const double> coef, const Matrix& covariance) const {
    const ContrastTest::Result result =
        test.result(coef, covariance, options_.l2fc * unit_, options_.rank_tolerance);
    if (result.df == 0) return;
    values[first] = result.statistic;
    values[first + 1] = result.df;
    values[first + 2] = chi_squared_tail(result.statistic, result.df);
  }
  /// The difference that a part reports.
  [[nodiscard]] double size_of(std::vector<double> estimates) const {
    for (double& one : estimates) one /= unit_;
    if (estimates.size() == 1) return estimates.front();
    for (double& one : estimates) one = std::abs(one);
    if (options_.test == CurveTest::association) {
      double sum = 0;
      for (const double one : estimates) sum += one;
      return sum / static_cast<double>(estimates.size());
    }
    std::ranges::sort(estimates);
    const std::size_t middle = estimates.size() / 2;
    return estimates.size() % 2 == 1 ? estimates[middle] : (estimates[middle - 1] + estimates[middle]) / 2;
  }

  std::vector<CurveContrasts> parts_;
  const CurveTestOptions& options_;
  double unit_;  ///< of the differences, on the scale of the linear predictor
  std::vector<ContrastTest> tests_;
  std::optional<ContrastTest> joint_;
};

Predictions tests_of_curves(Job& job, const CurveFits& fits, const CurveTestOptions& options) {
  const bool is_log = fits.shared().fitted().family.link_name() == "log";
  together(job.comm(), [&] {
    if (options.l2fc != 0 && !is_log)
      throw base::usage_error("l2fc needs a log link, but the family is {}: leave it out",
                              fits.shared().fitted().family.name());
  });
  const CurveTester tester(curve_contrasts(job, fits.shared(), options), options, is_log);
  Predictions out = row_of_each(job, fits);
  const Range mine = job.local_range(out.plan);
  const auto values = values_of_fits(job, mine, fits, true, [&](const SomeFits& some, std::size_t i) {
    return tester.values_of(some.coef_of(i), some.covariance_of(i));
  });
  const auto add = [&](const std::string& name, std::size_t place) -> const std::vector<double>& {
    Predictions::Column column{name, {}};
    for (const std::vector<double>& one : values) column.values.push_back(one[place]);
    return out.columns.emplace_back(std::move(column)).values;
  };
  const auto add_test = [&](const std::string& of, std::size_t first) {
    add("statistic" + of, first);
    add("df" + of, first + 1);
    const std::vector<double> rates =
        false_discovery_rates(job.comm().allgatherv(std::span<const double>(add("p" + of, first + 2))));
    out.columns.push_back({"q" + of, {rates.begin() + mine.begin, rates.begin() + mine.end}});
  };
  add_test("", 0);
  for (std::size_t i = 0; i < tester.parts().size(); ++i) {
    const std::string of = ":" + tester.parts()[i].name;
    add_test(of, 3 + 4 * i);
    add((is_log ? "log2_fold_change" : "difference") + of, 6 + 4 * i);
  }
  return out;
}

}  // namespace

Predictions test_curves(Job& job, const std::string& fits, const CurveTestOptions& options) {
  return tests_of_curves(job, *fits_of_curves(job, fits), options);
}

Predictions test_curves(Job& job, const ManyResults& fits, const CurveTestOptions& options) {
  return tests_of_curves(job, *fits_of_curves(fits), options);
}

}  // namespace TESSERA_NAMESPACE::gam
