// SPDX-License-Identifier: Apache-2.0
#include "base/at.hpp"
#include "base/pluralised.hpp"
#include "gam/curves/curve_contrasts.hpp"
#include "gam/curves/curve_fits.hpp"
#include "gam/inference/false_discovery.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/model/fitted_response.hpp"
#include "gam/model/model.hpp"
#include "gam/report/page_writer.hpp"
#include "gam/report/plot.hpp"

#include <tessera/gam/report.hpp>
#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <span>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// Maximum number of responses whose curves are drawn.
constexpr std::size_t most_responses = 20;

/// Columns of the results with an element per response.
struct Overview {
  std::vector<std::string> responses;
  std::vector<std::string> status;
  std::vector<std::string> limits;
  std::vector<std::string> reason;
  std::vector<double> deviance_explained;
  std::vector<std::pair<std::string, std::vector<double>>> p_values;  ///< by label of the smooth
};

Overview overview_of(const StoredResults& stored, const Design& design) {
  Overview all;
  all.responses = stored.responses();
  const Range rows{0, std::ssize(all.responses)};
  all.status = stored.texts("status", rows);
  all.limits = stored.texts("limits", rows);
  all.reason = stored.texts("reason", rows);
  all.deviance_explained = stored.numbers("deviance_explained", 0, rows);
  for (const CoefBlock& block : design.blocks) {
    if (block.penalty) all.p_values.emplace_back(block.label, std::vector<double>());
  }
  if (all.p_values.empty()) return all;
  const std::size_t width = 3 * all.p_values.size();
  const std::vector<double> tests = stored.numbers(ManyDatasets::smooth_tests, width, rows);
  for (std::size_t i = 0; i < tests.size(); ++i) {
    if (i % 3 == 2) all.p_values[i % width / 3].second.push_back(tests[i]);
  }
  return all;
}

struct DrawnCurve {
  const CurvePoints& at;
  std::vector<double> fit, low, high;
};

class ManyPage : PageWriter {
 public:
  ManyPage(const Overview& all, const CurveFits& fits, const std::vector<CurvePoints>& curves)
      : all_(all), fits_(fits), curves_(curves), model_(fits.shared().fitted()) {}

  Report report() {
    head(fmt::format("Models of {}", base::pluralised(all_.responses.size(), "response")),
         model_.formula.substr(model_.formula.find('~')));
    ends();
    p_values();
    if (!curves_.empty()) top();
    return foot();
  }

 private:
  void ends() {
    add("<section aria-labelledby=\"ends\">\n<h2 id=\"ends\">How the fits ended</h2>\n<dl>\n");
    // Each response has its own theta, so the title is cut before the shared family's parameters.
    const std::string title = model_.family.title();
    fact("Family", model_.family.estimates_parameters() ? title.substr(0, title.find('(')) : title);
    fact("Rows", count_text(model_.rows));
    fact("Responses", count_text(std::ssize(all_.responses)));
    add("</dl>\n");
    counts("Status", all_.status);
    counts("Limits of those that converged", all_.limits, true);
    failed();
    add("</section>\n");
  }

  void counts(std::string_view caption, const std::vector<std::string>& values, bool of_converged = false) {
    std::map<std::string, long long> counted;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!of_converged || all_.status[i] == "converged") ++counted[values[i]];
    }
    if (counted.empty()) return;
    add("<div class=\"scroll\"><table>\n<caption>{}</caption>\n<tbody>\n", caption);
    for (const auto& [value, count] : counted)
      add("<tr><th scope=\"row\">{}</th><td>{}</td><td>{:.1f}%</td></tr>\n", escaped(value),
          count_text(count), 100 * static_cast<double>(count) / static_cast<double>(values.size()));
    add("</tbody>\n</table></div>\n");
  }

  void failed() {
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < all_.status.size(); ++i) {
      if (all_.status[i] == "failed" || all_.status[i] == "unbounded") rows.push_back(i);
    }
    if (rows.empty()) return;
    add("<div class=\"scroll\"><table>\n<caption>Responses without a fit to rely on</caption>\n<thead><tr>"
        "<th scope=\"col\">Response</th><th scope=\"col\" class=\"text\">Status</th>"
        "<th scope=\"col\" class=\"text\">Reason</th></tr></thead>\n<tbody>\n");
    const std::size_t shown = std::min(rows.size(), max_table_rows);
    for (const std::size_t i : std::span(rows).first(shown))
      add("<tr><th scope=\"row\">{}</th><td class=\"text\">{}</td><td class=\"text\">{}</td></tr>\n",
          escaped(all_.responses[i]), all_.status[i],
          escaped(all_.reason[i] == "none" ? "" : all_.reason[i]));
    add("</tbody>\n</table></div>\n");
    left_out(rows.size() - shown, "response", "the column status of the fits has all");
  }

  void p_values() {
    if (all_.p_values.empty()) return;
    add("<section aria-labelledby=\"tests\">\n<h2 id=\"tests\">Tests of the smooths</h2>\n<p class=\"note\">"
        "Numbers of responses by their p value. Without any effect the bars would reach the line.</p>\n"
        "<div class=\"plots\">\n");
    for (const auto& [label, values] : all_.p_values) {
      std::vector<double> known;
      std::ranges::copy_if(values, std::back_inserter(known), [](double p) { return p >= 0 && p <= 1; });
      if (known.empty()) continue;
      constexpr double level = 0.05;
      const std::vector<double> rates = false_discovery_rates(known);
      const auto found = std::ranges::count_if(rates, [](double q) { return q <= level; });
      figure(
          "p values " + label, histogram(label, known),
          fmt::format("<code>{}</code>: {} of {} have a false discovery rate of at most 5 %.", escaped(label),
                      count_text(found), base::pluralised(known.size(), "tested response")));
    }
    add("</div>\n</section>\n");
  }

  static Picture histogram(const std::string& label, std::span<const double> p_values) {
    constexpr int bars = 20;
    std::vector<double> counts(bars);
    for (const double p : p_values) ++counts[at(std::min(bars - 1, static_cast<int>(p * bars)))];
    std::vector<PlotRectangle> rectangles;
    std::vector<double> from;
    for (int i = 0; i < bars; ++i) {
      from.push_back(static_cast<double>(i) / bars);
      rectangles.push_back({from.back(), static_cast<double>(i + 1) / bars, 0, counts[at(i)]});
    }
    const double flat = static_cast<double>(p_values.size()) / bars;
    Plot plot({"p values of " + label, fmt::format("{} p values, {} of them below 0.05.",
                                                   count_text(std::ssize(p_values)), counts[0])},
              {"p value", {0, 1}}, {"responses", {0, 1.05 * std::ranges::max(counts)}});
    plot.rectangles(rectangles, "bars");
    plot.segment(0, flat, 1, flat, "reference");
    return {plot.svg(), csv_text({{"from", from}, {"responses", counts}})};
  }

  /// Converged responses in order of their smallest p-value over smooths, at most `most_responses`. Ties:
  /// more explained deviance first.
  [[nodiscard]] std::vector<std::size_t> smallest() const {
    std::vector<double> least(all_.responses.size(), 2);
    for (const auto& [label, values] : all_.p_values) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] < least[i]) least[i] = values[i];
      }
    }
    std::vector<std::size_t> order(least.size());
    std::iota(order.begin(), order.end(), 0);
    std::erase_if(order, [&](std::size_t i) { return least[i] > 1 || all_.status[i] != "converged"; });
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      return least[a] != least[b] ? least[a] < least[b]
                                  : all_.deviance_explained[a] > all_.deviance_explained[b];
    });
    order.resize(std::min(order.size(), most_responses));
    return order;
  }

  void top() {
    const std::vector<std::size_t> chosen = smallest();
    if (chosen.empty()) return;
    add("<section aria-labelledby=\"top\">\n<h2 id=\"top\">Responses with the smallest p values</h2>\n"
        "<p class=\"note\">Their curves, with other variables at typical values and without offsets. Bands "
        "are \u00b12 standard errors.</p>\n<div class=\"plots\">\n");
    for (const std::size_t i : chosen)
      figure(all_.responses[i], curves_of(i),
             fmt::format("<code>{}</code>: {:.3g} % of the deviance explained.", escaped(all_.responses[i]),
                         100 * all_.deviance_explained[i]));
    add("</div>\n</section>\n");
  }

  [[nodiscard]] Picture curves_of(std::size_t response) const {
    const auto row = static_cast<std::int64_t>(response);
    const SomeFits some = fits_.read({row, row + 1}, true);
    const Matrix covariance = some.covariance_of(0);
    std::vector<DrawnCurve> drawn;
    for (const CurvePoints& curve : curves_) {
      if (!are_known(curve.rows, some.coef_of(0))) continue;
      DrawnCurve one{curve, multiply_t(curve.rows, with_zeros(some.coef_of(0))), {}, {}};
      const std::vector<double> errors = standard_errors(curve.rows, covariance);
      for (std::size_t j = 0; j < one.fit.size(); ++j) {
        one.low.push_back(one.fit[j] - 2 * errors[j]);
        one.high.push_back(one.fit[j] + 2 * errors[j]);
      }
      drawn.push_back(std::move(one));
    }
    return picture(all_.responses[response], drawn);
  }

  [[nodiscard]] Picture picture(const std::string& response, const std::vector<DrawnCurve>& drawn) const {
    Interval x = no_interval;
    Interval y = no_interval;
    std::vector<std::string> names;
    std::string variables;
    std::vector<std::string> in_csv;
    std::vector<double> points, fit, low, high;
    for (const DrawnCurve& one : drawn) {
      x = {std::min(x.low, one.at.points.front()), std::max(x.high, one.at.points.back())};
      y = {std::min(y.low, std::ranges::min(one.low)), std::max(y.high, std::ranges::max(one.high))};
      names.push_back(one.at.name);
      if (variables.find(one.at.variable) == std::string::npos)
        variables += (variables.empty() ? "" : ", ") + one.at.variable;
      in_csv.insert(in_csv.end(), one.fit.size(), one.at.name);
      points.insert(points.end(), one.at.points.begin(), one.at.points.end());
      fit.insert(fit.end(), one.fit.begin(), one.fit.end());
      low.insert(low.end(), one.low.begin(), one.low.end());
      high.insert(high.end(), one.high.begin(), one.high.end());
    }
    const std::string_view link = model_.family.link_name();
    const std::string scale = link == "log" ? "log mean" : link == "identity" ? "mean" : "linear predictor";
    PlotSize size;
    if (names.size() > 1) {
      size.above = key_height(names);
      size.height += size.above;
    }
    Plot plot({response, fmt::format("{} along {}.", base::pluralised(drawn.size(), "curve"), variables)},
              {variables, x}, {scale, widened(y)}, size);
    for (std::size_t i = 0; i < drawn.size(); ++i)
      plot.band(drawn[i].at.points, drawn[i].low, drawn[i].high, "band " + colour_style(i));
    for (std::size_t i = 0; i < drawn.size(); ++i)
      plot.line(drawn[i].at.points, drawn[i].fit, "line " + colour_style(i));
    if (names.size() > 1) plot.key(names);
    return {plot.svg(),
            csv_text({{"curve", in_csv}, {"at", points}, {"fit", fit}, {"low", low}, {"high", high}})};
  }

  const Overview& all_;
  const CurveFits& fits_;
  const std::vector<CurvePoints>& curves_;
  const FittedModel& model_;
};

}  // namespace

Report report_many(Job& job, const std::string& fits) {
  const std::unique_ptr<CurveFits> opened = fits_of_curves(job, fits);
  const FittedModel& shared = opened->shared().fitted();
  std::vector<CurvePoints> curves;
  constexpr int points = 60;
  if (!shared.outline.curves.empty()) curves = curve_points(job, opened->shared(), {.points = points});
  Report made;
  together(job.comm(), [&] {
    if (job.comm().rank() != 0) return;
    const Overview all = overview_of(StoredResults(fits), shared.design);
    made = ManyPage(all, *opened, curves).report();
  });
  return made;
}

}  // namespace TESSERA_NAMESPACE::gam
