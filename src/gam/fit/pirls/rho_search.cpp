// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/pirls/rho_search.hpp"

#include "gam/fit/pirls/pirls.hpp"
#include "gam/fit/pirls/serial_residuals.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr double largest_correlation = 0.9999;
/// Accuracy of the correlation, far below its standard error of about 1 / sqrt(n).
constexpr double exactness = 1e-5;

struct RhoFit {
  double score = 0;
  std::vector<double> coef;
};

/// Fits with the correlation of `rows.series`. The score is the same on every rank.
RhoFit fit_at(const FitContext& fit, Rows rows, const RawMoments& moments) {
  RowPass pass(fit.job, fit.plan, rows);
  PirlsLoop loop(fit, pass, rows, moments);
  loop.run({});
  loop.solver().bring_to_root(loop.end().coef);
  double score = loop.solver().fit().score - rows.series.log_determinant_in_reml(rows.frame->complete_rows);
  fit.job.comm().broadcast(std::span(&score, 1), 0);
  return {score, loop.end().coef};
}

}  // namespace

double least_correlation(double start, const std::function<double(double)>& score) {
  const auto limited = [](double rho) { return std::clamp(rho, -largest_correlation, largest_correlation); };
  struct Point {
    double rho, score;
  };
  const auto at = [&](double rho) { return Point{rho, score(rho)}; };
  double width = 0.05;
  Point middle = at(limited(start));
  Point low = at(limited(middle.rho - width));
  Point high = at(limited(middle.rho + width));
  while (low.score < middle.score && low.rho > -largest_correlation) {
    high = middle;
    middle = low;
    low = at(limited(middle.rho - (width *= 2)));
  }
  while (high.score < middle.score && high.rho < largest_correlation) {
    low = middle;
    middle = high;
    high = at(limited(middle.rho + (width *= 2)));
  }
  // Golden section search: the larger part of the interval is divided.
  constexpr double section = 0.381966011250105;
  while (high.rho - low.rho > exactness) {
    const bool upper = high.rho - middle.rho > middle.rho - low.rho;
    const Point& end = upper ? high : low;
    const Point probe = at(middle.rho + section * (end.rho - middle.rho));
    Point& nearer = upper ? low : high;
    Point& farther = upper ? high : low;
    if (probe.score < middle.score) {
      nearer = middle;
      middle = probe;
    } else {
      farther = probe;
    }
  }
  return middle.rho;
}

double rho_of_least_score(const FitContext& fit, const Rows& rows, const RawMoments& moments) {
  fit.observer.now("estimating the correlation of residuals");
  const RhoFit independent = fit_at(fit, rows, moments);
  const double start =
      serial_residuals(fit, rows, rows.design->raw_coefficients(independent.coef), 1).autocorrelation.front();
  const double rho = least_correlation(start, [&](double candidate) {
    Rows correlated = rows;
    correlated.series.rho = candidate;
    const double score = candidate == 0 ? independent.score : fit_at(fit, correlated, moments).score;
    fit.observer.now(fmt::format("rho {:.6f}: fREML {:.8g}", candidate, score));
    return score;
  });
  fit.observer.note(fmt::format(
      "rho = {:.5f} has the lowest fREML; with rho = 0 the lag-1 autocorrelation of the residuals is {:.5f}",
      rho, start));
  return rho;
}

}  // namespace TESSERA_NAMESPACE::gam
