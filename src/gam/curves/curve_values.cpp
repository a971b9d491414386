// SPDX-License-Identifier: Apache-2.0
#include "base/at.hpp"
#include "gam/curves/curve_contrasts.hpp"
#include "gam/curves/curve_fits.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/model/model.hpp"

#include <tessera/gam/curves.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Replaces values by their standard scores; NaN is left out, and a constant has none.
void standardise_scores(std::vector<double>& values) {
  double sum = 0;
  double count = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    sum += value;
    ++count;
  }
  const double mean = sum / count;
  double squares = 0;
  for (const double value : values) squares += std::isnan(value) ? 0 : (value - mean) * (value - mean);
  const double deviation = std::sqrt(squares / (count - 1));
  for (double& value : values)
    value = deviation > 0 ? (value - mean) / deviation : std::numeric_limits<double>::quiet_NaN();
}

Predictions values_of_curves(Job& job, const CurveFits& fits, const CurveValueOptions& options) {
  const std::vector<CurvePoints> curves = curve_points(job, fits.shared(), options);
  const Family& family = fits.shared().fitted().family;
  Predictions out = row_of_each(job, fits);
  for (const CurvePoints& curve : curves) {
    for (const double point : curve.points)
      out.columns.push_back({fmt::format("{}@{:.6g}", curve.name, point), {}});
  }
  const auto of_fit = [&](const SomeFits& some, std::size_t i) {
    std::vector<double> values;
    const auto coef = some.coef_of(i);
    const std::vector<double> known = with_zeros(coef);
    for (const CurvePoints& curve : curves) {
      const bool is_known = are_known(curve.rows, coef);
      for (const double eta : multiply_t(curve.rows, known))
        values.push_back(is_known ? family.mean(eta) : std::numeric_limits<double>::quiet_NaN());
    }
    if (options.scaled) standardise_scores(values);
    return values;
  };
  const auto values = values_of_fits(job, job.local_range(out.plan), fits, false, of_fit);
  for (std::size_t c = 0; c < out.columns.size(); ++c) {
    for (const std::vector<double>& of_response : values) out.columns[c].values.push_back(of_response[c]);
  }
  return out;
}

}  // namespace

Predictions curve_values(Job& job, const std::string& fits, const CurveValueOptions& options) {
  return values_of_curves(job, *fits_of_curves(job, fits), options);
}

Predictions curve_values(Job& job, const ManyResults& fits, const CurveValueOptions& options) {
  return values_of_curves(job, *fits_of_curves(fits), options);
}

}  // namespace TESSERA_NAMESPACE::gam
