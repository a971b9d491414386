// SPDX-License-Identifier: Apache-2.0
#include "base/errors.hpp"
#include "gam/curves/curve_contrasts.hpp"
#include "gam/curves/curve_fits.hpp"
#include "gam/inference/distributions.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/model/model.hpp"

#include <tessera/gam/curves.hpp>
#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Replaces values by their standard scores. NaN is ignored; the scores of a constant are NaN.
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
  together(job.comm(), [&] {
    if (!(options.interval >= 0 && options.interval < 1))
      throw base::usage_error("interval is {}: give a probability below 1, such as 0.95", options.interval);
    if (options.scaled && options.interval > 0)
      throw base::usage_error("scaled values have no interval: remove either scaled or interval");
  });
  const bool with_bounds = options.interval > 0;
  const double factor = with_bounds ? normal_quantile((1 + options.interval) / 2) : 0;
  const std::vector<CurvePoints> curves = curve_points(job, fits.shared(), options);
  const Family& family = fits.shared().fitted().family;
  Predictions out = row_of_each(job, fits);
  for (const CurvePoints& curve : curves) {
    for (const double point : curve.points) {
      const std::string name = fmt::format("{}@{:.6g}", curve.name, point);
      out.columns.push_back({name, {}});
      if (!with_bounds) continue;
      out.columns.push_back({name + ".lower", {}});
      out.columns.push_back({name + ".upper", {}});
    }
  }
  const auto of_fit = [&](const SomeFits& some, std::size_t i) {
    std::vector<double> values;
    const auto coef = some.coef_of(i);
    const std::vector<double> known = with_zeros(coef);
    for (const CurvePoints& curve : curves) {
      const bool is_known = are_known(curve.rows, coef);
      const auto add = [&](double eta) {
        values.push_back(is_known ? family.mean(eta) : std::numeric_limits<double>::quiet_NaN());
      };
      const std::vector<double> etas = multiply_t(curve.rows, known);
      std::vector<double> errors;
      if (with_bounds) errors = standard_errors(curve.rows, some.covariance_of(i));
      for (std::size_t j = 0; j < etas.size(); ++j) {
        add(etas[j]);
        if (!with_bounds) continue;
        // A decreasing link, such as 1/mu, swaps the bounds.
        const double half = std::copysign(factor * errors[j], family.derivative(etas[j]));
        add(etas[j] - half);
        add(etas[j] + half);
      }
    }
    if (options.scaled) standardise_scores(values);
    return values;
  };
  const auto values = values_of_fits(job, job.local_range(out.plan), fits, with_bounds, of_fit);
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
