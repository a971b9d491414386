// SPDX-License-Identifier: Apache-2.0
#include "gam/curves/curve_fits.hpp"

#include "base/errors.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/model/fitted_response.hpp"

#include <tessera/job/stop_request.hpp>
#include <tessera/job/together.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <variant>

namespace TESSERA_NAMESPACE::gam {

using base::at;

namespace {

class FitsInFile final : public CurveFits {
 public:
  explicit FitsInFile(std::unique_ptr<StoredResults> file)
      : CurveFits(Model(std::make_shared<const FittedModel>(file->shared())), file->responses()),
        file_(std::move(file)) {}

 private:
  [[nodiscard]] std::vector<double> column(const std::string& name, Range responses) const override {
    return file_->numbers(name, 0, responses);
  }
  [[nodiscard]] std::vector<double> packed_covariances(Range responses) const override {
    const std::size_t p = shared().coefficient_names().size();
    return file_->numbers(ManyDatasets::covariance, p * (p + 1) / 2, responses);
  }

  std::unique_ptr<StoredResults> file_;
};

template <class Values>
const Values& values_in(const ManyResults& results, const std::string& column) {
  return std::get<Values>(std::ranges::find(results.fits, column, &Table::Column::name)->values);
}

class FitsInMemory final : public CurveFits {
 public:
  explicit FitsInMemory(const ManyResults& results)
      : CurveFits(*results.shared, values_in<Factor>(results, "response").levels), results_(results) {}

 private:
  [[nodiscard]] std::vector<double> column(const std::string& name, Range responses) const override {
    const auto& all = values_in<std::vector<double>>(results_, name);
    return {all.begin() + responses.begin, all.begin() + responses.end};
  }
  [[nodiscard]] std::vector<double> packed_covariances(Range responses) const override {
    const Matrix& packed = results_.matrices.at(ManyDatasets::covariance);
    const auto all = packed.values().begin();
    const auto size = static_cast<std::ptrdiff_t>(packed.rows());
    return {all + responses.begin * size, all + responses.end * size};
  }

  const ManyResults& results_;
};

}  // namespace

Matrix SomeFits::covariance_of(std::size_t i) const {
  const auto p = static_cast<int>(size);
  Matrix covariance(p, p);
  auto next = packed.begin() + static_cast<std::ptrdiff_t>(i * size * (size + 1) / 2);
  for (int a = 0; a < p; ++a) {
    for (int b = a; b < p; ++b) covariance(a, b) = covariance(b, a) = *next++;
  }
  return covariance;
}

CurveFits::CurveFits(const Model& shared, std::vector<std::string> responses)
    : shared_(shared), responses_(std::move(responses)) {}

SomeFits CurveFits::read(Range responses, bool with_covariances) const {
  const std::vector<std::string> names = shared().coefficient_names();
  SomeFits fits{.size = names.size()};
  fits.coef.resize(names.size() * at(responses.size()));
  for (std::size_t c = 0; c < names.size(); ++c) {
    const std::vector<double> values = column(names[c], responses);
    for (std::size_t i = 0; i < values.size(); ++i) fits.coef[i * names.size() + c] = values[i];
  }
  if (with_covariances) fits.packed = packed_covariances(responses);
  return fits;
}

std::unique_ptr<CurveFits> fits_of_curves(Job& job, const std::string& path) {
  std::unique_ptr<CurveFits> fits;
  together(job.comm(), [&] {
    auto file = std::make_unique<StoredResults>(path);
    if (!file->has(ManyDatasets::covariance))
      throw base::input_error("{}: the file contains no covariances: fit again with covariances", path);
    fits = std::make_unique<FitsInFile>(std::move(file));
  });
  return fits;
}

std::unique_ptr<CurveFits> fits_of_curves(const ManyResults& results) {
  if (!results.shared)
    throw base::usage_error("the results contain no covariances: fit again with covariances");
  return std::make_unique<FitsInMemory>(results);
}

Predictions row_of_each(const Job& job, const CurveFits& fits) {
  Predictions out;
  out.plan = job.plan_for_hosts(std::ssize(fits.responses()));
  out.table_rows = std::ssize(fits.responses());
  const Range mine = job.local_range(out.plan);
  Factor names{{}, fits.responses(), LevelOrder::given};
  for (std::int64_t i = mine.begin; i < mine.end; ++i) names.codes.push_back(static_cast<std::int32_t>(i));
  out.kept.push_back({"response", std::move(names)});
  return out;
}

bool are_known(const Matrix& contrasts, std::span<const double> coef) {
  for (int i = 0; i < contrasts.rows(); ++i) {
    for (int j = 0; std::isnan(coef[at(i)]) && j < contrasts.cols(); ++j) {
      if (contrasts(i, j) != 0) return false;
    }
  }
  return true;
}

std::vector<double> with_zeros(std::span<const double> coef) {
  std::vector<double> known(coef.begin(), coef.end());
  for (double& one : known) one = std::isnan(one) ? 0 : one;
  return known;
}

std::vector<double> standard_errors(const Matrix& contrasts, const Matrix& covariance) {
  std::vector<double> errors;
  for (int j = 0; j < contrasts.cols(); ++j) {
    const auto contrast = contrasts.column(j);
    errors.push_back(std::sqrt(std::max(0.0, dot(contrast, multiply(covariance, contrast)))));
  }
  return errors;
}

std::vector<std::vector<double>> values_of_fits(Job& job, Range mine, const CurveFits& fits,
                                                bool with_covariances, ValuesOfFit of) {
  std::vector<std::vector<double>> values(at(mine.size()));
  together(job.comm(), [&] {
    constexpr std::int64_t numbers_at_once = std::int64_t{1} << 23;
    const auto p = std::ssize(fits.shared().coefficients());
    const std::int64_t at_once = std::max<std::int64_t>(1, 2 * numbers_at_once / ((p + 1) * (p + 1)));
    for (std::int64_t begin = mine.begin; begin < mine.end; begin += at_once) {
      const Range range{begin, std::min(mine.end, begin + at_once)};
      const SomeFits some = fits.read(range, with_covariances);
      const auto compute = [&](int /*thread*/, Range block) {
        for (std::int64_t i = block.begin; i < block.end; ++i)
          values[at(begin - mine.begin + i)] = of(some, at(i));
      };
      if (!job.host_team().for_each_block({0, range.size()}, 16, compute, job.options().stop))
        throw Error(ErrorCode::interrupted, "the job was asked to stop");
    }
  });
  return values;
}

}  // namespace TESSERA_NAMESPACE::gam
