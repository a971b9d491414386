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
#include <map>
#include <numbers>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

namespace {

constexpr double untested = std::numeric_limits<double>::quiet_NaN();

/// Tests each part, all parts jointly, and the parts of each group jointly.
class CurveTester {
 public:
  CurveTester(std::vector<CurveContrasts> parts, const CurveTestOptions& options, bool is_log)
      : parts_(std::move(parts)), options_(options), unit_(is_log ? std::numbers::ln2 : 1) {
    std::map<std::string, std::vector<bool>> groups;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      tests_.emplace_back(parts_[i].contrasts);
      auto& members = groups[parts_[i].group];
      members.resize(parts_.size());
      members[i] = true;
    }
    add_joint("", std::vector<bool>(parts_.size(), true));
    for (const auto& [name, members] : groups) {
      if (groups.size() > 1 && std::ranges::count(members, true) > 1) add_joint(name, members);
    }
  }

  [[nodiscard]] const std::vector<CurveContrasts>& parts() const noexcept { return parts_; }
  /// Group names of the joint tests; empty for the test of all parts.
  [[nodiscard]] std::vector<std::string> joint_names() const {
    std::vector<std::string> names;
    for (const JointTest& joint : joint_) names.push_back(joint.name);
    return names;
  }
  /// Statistic, df and p-value of each joint test, then statistic, df, p-value and effect size of each part.
  /// NaN: not tested.
  [[nodiscard]] std::vector<double> values_of(std::span<const double> coef, const Matrix& covariance) const {
    const std::size_t of_parts = 3 * joint_.size();
    std::vector<double> values(of_parts + 4 * parts_.size(), untested);
    if (std::ranges::any_of(covariance.values(), [](double one) { return std::isnan(one); })) return values;
    // Coefficients of a curve at minus infinity are NaN; contrasts without these coefficients can be tested.
    const std::vector<double> known = with_zeros(coef);
    std::vector<bool> tested;
    for (const CurveContrasts& part : parts_) tested.push_back(are_known(part.contrasts, coef));
    for (std::size_t g = 0; g < joint_.size(); ++g) {
      std::vector<bool> members = joint_[g].members;
      for (std::size_t i = 0; i < members.size(); ++i) members[i] = members[i] && tested[i];
      if (std::ranges::count(members, true) == 0) continue;
      set(values, 3 * g, members == joint_[g].members ? joint_[g].test : ContrastTest(joined(members)), known,
          covariance);
    }
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!tested[i]) continue;
      set(values, of_parts + 4 * i, tests_[i], known, covariance);
      values[of_parts + 4 * i + 3] = size_of(tests_[i].estimates(known));
    }
    return values;
  }

 private:
  struct JointTest {
    std::string name;
    std::vector<bool> members;  ///< by index of the part
    ContrastTest test;
  };

  void add_joint(const std::string& name, const std::vector<bool>& members) {
    joint_.push_back({name, members, ContrastTest(joined(members))});
  }
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
  /// The effect size of a part: the only estimate, or the mean (association) or median of the absolute
  /// estimates.
  [[nodiscard]] double size_of(std::vector<double> estimates) const {
    for (double& one : estimates) one /= unit_;
    if (estimates.size() == 1) return estimates.front();
    for (double& one : estimates) one = std::abs(one);
    if (options_.contrasts.empty() && options_.test == CurveTest::association) {
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
  double unit_;  ///< log(2) for a log link, which gives log2 fold changes; otherwise 1
  std::vector<ContrastTest> tests_;
  std::vector<JointTest> joint_;
};

Predictions tests_of_curves(Job& job, const CurveFits& fits, const CurveTestOptions& options) {
  const bool is_log = fits.shared().fitted().family.link_name() == "log";
  together(job.comm(), [&] {
    if (options.l2fc != 0 && !is_log)
      throw base::usage_error("l2fc needs a log link, but the family is {}: remove l2fc",
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
  std::size_t place = 0;
  for (const std::string& name : tester.joint_names()) {
    add_test(name.empty() ? "" : ":" + name, place);
    place += 3;
  }
  for (const CurveContrasts& part : tester.parts()) {
    const std::string of = ":" + part.name;
    add_test(of, place);
    add((is_log ? "log2_fold_change" : "difference") + of, place + 3);
    place += 4;
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
