// SPDX-License-Identifier: Apache-2.0
#include "support/dense_fit.hpp"

#include "gam/family/row_step.hpp"
#include "gam/family/visit.hpp"
#include "gam/linalg/linalg.hpp"

#include <cmath>
#include <utility>

namespace TESSERA_NAMESPACE::gam::testing {

DenseFit performance_iteration(const DenseModel& model, const std::vector<double>& y, const Family& family) {
  const std::size_t n = y.size();
  DenseFit out;
  out.fit.coef.assign(static_cast<std::size_t>(model.design().coef_size), 0.0);
  std::vector<double> eta;
  for (const double v : y)
    eta.push_back(visit(family, [&](const auto& f) { return first_predictor(f, v, 1); }));
  double previous = 0;
  for (out.steps = 1; out.steps <= 100; ++out.steps) {
    std::vector<double> z(n);
    std::vector<double> weights(n);
    out.deviance = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const RowStep step = visit(family, [&](const auto& f) { return row_step(f, y[i], eta[i], 1); });
      z[i] = eta[i] + step.residual;
      weights[i] = step.weight;
      out.deviance += step.deviance;
    }
    if (out.steps > 2 && std::abs(out.deviance - previous) < 1e-12 * (0.1 + std::abs(out.deviance))) break;
    previous = out.deviance;
    WorkingModel working = model.working(z, weights, out.fit.coef);
    out.fit = fit_reml(working, model.design(), family.scale_is_known(), out.fit.log_sp);
    out.gram = std::move(working.gram.core);
    eta = multiply(model.matrix(), out.fit.coef);
    if (family.linear() && out.steps == 2) break;
  }
  for (const double v : eta) out.fitted.push_back(family.mean(v));
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam::testing
