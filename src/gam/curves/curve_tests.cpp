// SPDX-License-Identifier: Apache-2.0
#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/curves/contrast_test.hpp"
#include "gam/curves/curve_contrasts.hpp"
#include "gam/inference/distributions.hpp"
#include "gam/inference/false_discovery.hpp"
#include "gam/linalg/submatrix.hpp"
#include "gam/model/fitted_response.hpp"

#include <tessera/gam/curves.hpp>
#include <tessera/job/stop_request.hpp>
#include <tessera/job/together.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numbers>
#include <optional>
#include <span>
#include <utility>
#include <variant>

namespace TESSERA_NAMESPACE::gam {

using base::at;

namespace {

constexpr double untested = std::numeric_limits<double>::quiet_NaN();

/// The coefficients and covariances of responses, one response after the other.
struct SomeFits {
  std::size_t size;  ///< number of coefficients
  std::vector<double> coef;
  std::vector<double> packed;  ///< upper triangles of the covariances, row by row
  [[nodiscard]] std::span<const double> coef_of(std::size_t i) const {
    return std::span(coef).subspan(i * size, size);
  }
  [[nodiscard]] Matrix covariance_of(std::size_t i) const {
    const auto p = static_cast<int>(size);
    Matrix covariance(p, p);
    auto next = packed.begin() + static_cast<std::ptrdiff_t>(i * size * (size + 1) / 2);
    for (int a = 0; a < p; ++a) {
      for (int b = a; b < p; ++b) covariance(a, b) = covariance(b, a) = *next++;
    }
    return covariance;
  }
};

/// The fits of all responses, of which each rank reads some.
class FitsToTest {
 public:
  FitsToTest(const Model& shared, std::vector<std::string> responses)
      : shared_(shared), responses_(std::move(responses)) {}
  FitsToTest(const FitsToTest&) = delete;
  FitsToTest& operator=(const FitsToTest&) = delete;
  virtual ~FitsToTest() = default;

  [[nodiscard]] const Model& shared() const noexcept { return shared_; }
  [[nodiscard]] const std::vector<std::string>& responses() const noexcept { return responses_; }
  [[nodiscard]] virtual SomeFits read(Range responses) const = 0;

 private:
  Model shared_;
  std::vector<std::string> responses_;
};

class FitsInFile final : public FitsToTest {
 public:
  explicit FitsInFile(std::unique_ptr<StoredResults> file)
      : FitsToTest(Model(std::make_shared<const FittedModel>(file->shared())), file->responses()),
        file_(std::move(file)) {}

  [[nodiscard]] SomeFits read(Range responses) const override {
    const std::vector<std::string> names = shared().coefficient_names();
    SomeFits fits{
        .size = names.size(), .coef = std::vector<double>(names.size() * at(responses.size())), .packed = {}};
    for (std::size_t c = 0; c < names.size(); ++c) {
      const std::vector<double> column = file_->numbers(names[c], 0, responses);
      for (std::size_t i = 0; i < column.size(); ++i) fits.coef[i * names.size() + c] = column[i];
    }
    fits.packed = file_->numbers(ManyDatasets::covariance, names.size() * (names.size() + 1) / 2, responses);
    return fits;
  }

 private:
  std::unique_ptr<StoredResults> file_;
};

template <class Values>
const Values& values_in(const ManyResults& results, const std::string& column) {
  return std::get<Values>(std::ranges::find(results.fits, column, &Table::Column::name)->values);
}

class FitsInMemory final : public FitsToTest {
 public:
  explicit FitsInMemory(const ManyResults& results)
      : FitsToTest(*results.shared, values_in<Factor>(results, "response").levels), results_(results) {}

  [[nodiscard]] SomeFits read(Range responses) const override {
    const std::vector<std::string> names = shared().coefficient_names();
    SomeFits fits{
        .size = names.size(), .coef = std::vector<double>(names.size() * at(responses.size())), .packed = {}};
    for (std::size_t c = 0; c < names.size(); ++c) {
      const auto& column = values_in<std::vector<double>>(results_, names[c]);
      for (std::int64_t i = 0; i < responses.size(); ++i)
        fits.coef[at(i) * names.size() + c] = column[at(responses.begin + i)];
    }
    const Matrix& packed = results_.matrices.at(ManyDatasets::covariance);
    const auto size = static_cast<std::ptrdiff_t>(packed.rows());
    fits.packed.assign(packed.values().begin() + responses.begin * size,
                       packed.values().begin() + responses.end * size);
    return fits;
  }

 private:
  const ManyResults& results_;
};

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
    for (const CurveContrasts& part : parts_) tested.push_back(is_known(part.contrasts, coef));
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
  static bool is_known(const Matrix& contrasts, std::span<const double> coef) {
    for (int i = 0; i < contrasts.rows(); ++i) {
      for (int j = 0; std::isnan(coef[at(i)]) && j < contrasts.cols(); ++j) {
        if (contrasts(i, j) != 0) return false;
      }
    }
    return true;
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

/// *Collective.* The values of this rank's responses: a vector of each.
std::vector<std::vector<double>> curve_values(Job& job, Range mine, const FitsToTest& fits,
                                              const CurveTester& tester) {
  std::vector<std::vector<double>> values(at(mine.size()));
  together(job.comm(), [&] {
    constexpr std::int64_t numbers_at_once = std::int64_t{1} << 23;
    const auto p = std::ssize(fits.shared().coefficients());
    const std::int64_t at_once = std::max<std::int64_t>(1, 2 * numbers_at_once / ((p + 1) * (p + 1)));
    for (std::int64_t begin = mine.begin; begin < mine.end; begin += at_once) {
      const SomeFits some = fits.read({begin, std::min(mine.end, begin + at_once)});
      const auto count = static_cast<std::int64_t>(some.coef.size() / some.size);
      if (!job.host_team().for_each_block(
              {0, count}, 16,
              [&](int /*thread*/, Range block) {
                for (std::int64_t i = block.begin; i < block.end; ++i)
                  values[at(begin - mine.begin + i)] =
                      tester.values_of(some.coef_of(at(i)), some.covariance_of(at(i)));
              },
              job.options().stop))
        throw Error(ErrorCode::interrupted, "the job was asked to stop");
    }
  });
  return values;
}

Predictions tests_of_curves(Job& job, const FitsToTest& fits, const CurveTestOptions& options) {
  const bool is_log = fits.shared().fitted().family.link_name() == "log";
  together(job.comm(), [&] {
    if (options.l2fc != 0 && !is_log)
      throw base::usage_error("l2fc needs a log link, but the family is {}: leave it out",
                              fits.shared().fitted().family.name());
  });
  const CurveTester tester(curve_contrasts(job, fits.shared(), options), options, is_log);
  Predictions out;
  out.plan = job.plan_for_hosts(std::ssize(fits.responses()));
  out.table_rows = std::ssize(fits.responses());
  const Range mine = job.local_range(out.plan);
  const auto values = curve_values(job, mine, fits, tester);
  Factor names{{}, fits.responses(), LevelOrder::given};
  for (std::int64_t i = mine.begin; i < mine.end; ++i) names.codes.push_back(static_cast<std::int32_t>(i));
  out.kept.push_back({"response", std::move(names)});
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
  std::optional<FitsInFile> source;
  together(job.comm(), [&] {
    auto file = std::make_unique<StoredResults>(fits);
    if (!file->has(ManyDatasets::covariance))
      throw base::input_error("{}: has no covariances: fit again with covariances", fits);
    source.emplace(std::move(file));
  });
  return tests_of_curves(job, *source, options);
}

Predictions test_curves(Job& job, const ManyResults& fits, const CurveTestOptions& options) {
  if (!fits.shared) throw base::usage_error("the results have no covariances: fit with covariances");
  return tests_of_curves(job, FitsInMemory(fits), options);
}

}  // namespace TESSERA_NAMESPACE::gam
