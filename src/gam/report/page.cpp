// SPDX-License-Identifier: Apache-2.0
#include "gam/report/page.hpp"

#include "gam/report/effects.hpp"
#include "gam/report/page_texts.hpp"
#include "gam/report/residual_plots.hpp"
#include "gam/report/summary.hpp"
#include "gam/report/term_plots.hpp"
#include "gam/report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tessera/error.hpp>
#include <tessera/version.hpp>
#include <utility>
#include <variant>
#include <vector>

namespace tessera::gam {
namespace {

/// Maximum number of pictures of terms on a page, and rows of a table: browsers struggle with more.
constexpr std::size_t max_pictures = 200;
constexpr std::size_t max_table_rows = 500;

/// Builds a page.
class Page {
 public:
  Page(const FittedModel& model, const PageOptions& options)
      : model_(model), options_(options), effects_(effects_of(model)) {}

  std::string html() {
    head();
    summary();
    smooths();
    factors();
    residuals();
    run();
    foot();
    return std::move(out_);
  }

 private:
  template <class... Parts>
  void add(fmt::format_string<Parts...> form, Parts&&... parts) {
    fmt::format_to(std::back_inserter(out_), form, std::forward<Parts>(parts)...);
  }

  void head() {
    const std::string response = model_.formula.substr(0, model_.formula.find('~'));
    const std::string title = escaped(shortened(response.substr(0, response.find_last_not_of(' ') + 1), 60));
    add("<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
        "<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" content=\"width=device-width, "
        "initial-scale=1\"/>\n"
        "<title>A model of {}</title>\n<style>\n",
        title);
    for (const NamedHeader& text : page_texts()) out_ += text.text;
    add("</style>\n</head>\n<body>\n<main>\n<h1>A model of {}</h1>\n<pre>{}</pre>\n", title,
        escaped(model_.formula));
  }

  void fact(std::string_view name, const std::string& value) {
    add("<div><dt>{}</dt><dd>{}</dd></div>\n", name, escaped(value));
  }

  void table(std::string_view caption, const TextTable& rows) {
    if (rows.size() < 2) return;
    add("<div class=\"scroll\"><table>\n<caption>{}</caption>\n<thead><tr>", caption);
    for (std::size_t j = 0; j < rows[0].size(); ++j) {
      const bool stars = j + 1 == rows[0].size();
      add("<th scope=\"col\">{}</th>", j == 0 ? "Term" : stars ? "Signif." : escaped(rows[0][j]));
    }
    add("</tr></thead>\n<tbody>\n");
    const std::size_t shown = std::min(rows.size(), max_table_rows + 1);
    for (std::size_t i = 1; i < shown; ++i) {
      add("<tr><th scope=\"row\">{}</th>", escaped(rows[i][0]));
      for (std::size_t j = 1; j + 1 < rows[i].size(); ++j)
        add("<td>{}</td>", escaped(signed_text(rows[i][j])));
      add("<td class=\"stars\">{}</td></tr>\n", rows[i].back());
    }
    add("</tbody>\n</table></div>\n");
    left_out(rows.size() - shown, "row", "tessera-fit summary prints all");
  }

  void left_out(std::size_t count, std::string_view what, std::string_view where) {
    if (count > 0) add("<p class=\"note\">{} more {}s are not shown: {}.</p>\n", count, what, where);
  }

  /// A number of the summary with a true minus sign.
  static std::string signed_text(std::string text) {
    if (text.starts_with('-')) text.replace(0, 1, "\u2212");
    return text;
  }

  void summary() {
    add("<section aria-labelledby=\"summary\">\n<h2 id=\"summary\">Summary</h2>\n");
    if (!model_.no_estimate.empty()) {
      add("<p class=\"warning\">There is <strong>no finite estimate</strong>: {}.</p>\n",
          escaped(model_.no_estimate));
    } else if (!model_.converged) {
      add("<p class=\"warning\">The fit has <strong>not converged</strong>: do not rely on it. "
          "{}</p>\n",
          escaped(model_.why_not_converged));
    }
    add("<dl>\n");
    fact("Family", model_.family.title());
    fact("Link function", std::string(model_.family.link_name()));
    fact("Rows", count_text(model_.rows));
    if (model_.rows_dropped > 0) fact("Left out, with missing values", count_text(model_.rows_dropped));
    if (!model_.weights.empty()) fact("Prior weights", model_.weights);
    fact("Deviance explained", fmt::format("{:.3g}%", 100 * model_.deviance_explained()));
    fact("R-sq.(adj)", signed_text(fmt::format("{:.3g}", model_.r_squared_adjusted)));
    fact("fREML", signed_text(fmt::format("{:.5g}", model_.reml)));
    fact("Scale est.", fmt::format("{:.5g}", model_.scale));
    if (!std::isnan(model_.aic)) fact("AIC", signed_text(fmt::format("{:.8g}", model_.aic)));
    fact("Total edf", fmt::format("{:.2f}", model_.edf_total));
    fact("Iterations", fmt::format("{}", model_.iterations));
    add("</dl>\n");
    table("Parametric coefficients", coefficient_table(model_));
    table("Approximate significance of smooth terms", smooth_table(model_));
    add("<p class=\"note\">Signif. codes: 0 *** 0.001 ** 0.01 * 0.05 . 0.1 (blank) 1</p>\n</section>\n");
  }

  void figure(const std::string& svg, const std::string& caption, std::string_view style = {}) {
    add("<figure{}>\n{}\n", style.empty() ? "" : fmt::format(" class=\"{}\"", style), svg);
    if (!caption.empty()) add("<figcaption>{}</figcaption>\n", caption);
    add("</figure>\n");
  }

  /// The common axis of all curves, if requested.
  [[nodiscard]] std::optional<Interval> common_axis() const {
    if (!options_.same_y_scale) return std::nullopt;
    Interval all = no_interval;
    for (const Effect& effect : effects_) {
      const auto* curve = std::get_if<Curve>(&effect.shape);
      if (curve == nullptr) continue;
      const Interval one = extent_of(*curve);
      all = {std::min(all.low, one.low), std::max(all.high, one.high)};
    }
    return axis_of(all);
  }

  static bool is_smooth(const Effect& effect) {
    const auto* levels = std::get_if<Levels>(&effect.shape);
    return levels == nullptr || levels->random;
  }

  [[nodiscard]] std::string_view where_rows_lie() const {
    const auto any = [&](auto is) { return std::any_of(effects_.begin(), effects_.end(), is); };
    const bool curves = any([](const Effect& effect) { return std::holds_alternative<Curve>(effect.shape); });
    const bool surfaces =
        any([](const Effect& effect) { return std::holds_alternative<Surface>(effect.shape); });
    if ((curves || surfaces) && model_.outline.variables.empty())
      return " The model does not hold where the rows lie: curves and maps may reach beyond them.";
    return curves ? " Bars at the foot of a curve show where the rows lie." : "";
  }

  void smooths() {
    if (std::none_of(effects_.begin(), effects_.end(), is_smooth)) return;
    add("<section aria-labelledby=\"smooths\">\n<h2 id=\"smooths\">Smooth terms</h2>\n<p class=\"note\">"
        "On the scale of the linear predictor, each centred as the fit has it; in the label of an axis, the "
        "effective degrees of freedom. Bands and intervals are \u00b12 standard errors.{}</p>\n"
        "<div class=\"plots\">\n",
        where_rows_lie());
    const std::optional<Interval> axis = common_axis();
    std::size_t pictures = 0;
    std::size_t rest = 0;
    std::vector<std::string> not_drawn;
    for (const Effect& effect : effects_) {
      if (!is_smooth(effect)) continue;
      if (std::holds_alternative<NotDrawn>(effect.shape)) {
        not_drawn.push_back(effect.label);
      } else if (++pictures > max_pictures) {
        ++rest;
      } else {
        smooth(effect, axis);
      }
    }
    add("</div>\n");
    left_out(rest, "term", "predict them with tessera-fit predict");
    for (const std::string& label : not_drawn) {
      add("<p class=\"note\"><code>{}</code> has three or more variables and is not drawn: predict it over a "
          "table of your choice with <code>tessera-fit predict --se</code>.</p>\n",
          escaped(label));
    }
    add("</section>\n");
  }

  void smooth(const Effect& effect, std::optional<Interval> axis) {
    const std::string title = "<code>" + escaped(effect.title) + "</code>";
    if (const auto* curve = std::get_if<Curve>(&effect.shape)) {
      const std::size_t lines = curve->lines.size();
      figure(curve_svg(effect, *curve, model_.outline, axis),
             lines == 1 ? "" : fmt::format("{}: {} levels, one line each", title, lines));
    } else if (const auto* surface = std::get_if<Surface>(&effect.shape)) {
      const SurfacePictures pair = surface_svg(effect, *surface);
      figure(pair.estimate, title + ": estimate");
      figure(pair.standard_error, title + ": standard error, large where there are few rows or none");
    } else if (const auto* levels = std::get_if<Levels>(&effect.shape)) {
      const std::size_t count = levels->names.size();
      figure(levels_svg(effect, *levels),
             count > max_listed ? fmt::format("{}: {} levels against the normal distribution", title, count)
                                : title + ": a random effect");
    }
  }

  void factors() {
    std::vector<const Effect*> factors;
    for (const Effect& effect : effects_) {
      const auto* levels = std::get_if<Levels>(&effect.shape);
      if (levels != nullptr && !levels->random) factors.push_back(&effect);
    }
    if (factors.empty()) return;
    add("<section aria-labelledby=\"factors\">\n<h2 id=\"factors\">Factors</h2>\n"
        "<p class=\"note\">On the scale of the linear predictor, with intervals of \u00b12 standard errors. "
        "A level "
        "at zero without an interval is the one that the others are compared with.</p>\n<div "
        "class=\"plots\">\n");
    std::vector<std::string> not_drawn;
    for (const Effect* effect : factors) {
      const auto& levels = std::get<Levels>(effect->shape);
      if (levels.names.size() > 4 * max_listed) {
        not_drawn.push_back(effect->label);
        continue;
      }
      figure(levels_svg(*effect, levels), {});
    }
    add("</div>\n");
    for (const std::string& label : not_drawn) {
      add("<p class=\"note\"><code>{}</code> has too many levels to be drawn.</p>\n", escaped(label));
    }
    add("</section>\n");
  }

  void residuals() {
    add("<section aria-labelledby=\"residuals\">\n<h2 id=\"residuals\">Residuals</h2>\n");
    std::vector<double> predictors;
    std::vector<double> residuals;
    const DataOutline& outline = model_.outline;
    const bool standardised = !outline.standardised_residual.empty();
    const auto& all = standardised ? outline.standardised_residual : outline.deviance_residual;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!std::isfinite(outline.linear_predictor[i]) || !std::isfinite(all[i])) continue;
      predictors.push_back(outline.linear_predictor[i]);
      residuals.push_back(all[i]);
    }
    if (residuals.size() < 2) {
      add("<p class=\"note\">The model holds no residuals: it was fitted with <code>--no-residuals</code>, "
          "or by a "
          "version of tessera-fit that did not keep them.</p>\n</section>\n");
      return;
    }
    const auto shown = static_cast<std::int64_t>(residuals.size());
    const char* kind = standardised ? "standardised" : "deviance";
    add("<p class=\"note\">{} residuals of {}.{}{}</p>\n<div class=\"plots\">\n",
        standardised ? "Standardised" : "Deviance",
        shown == model_.rows ? fmt::format("all {} rows", count_text(shown))
                             : fmt::format("{} of the {} rows, spread evenly over the table",
                                           count_text(shown), count_text(model_.rows)),
        standardised ? fmt::format(" Each is the deviance residual less rho = {:.5g} times that of the row "
                                   "before it in its series, and divided by the square root of 1 - rho².",
                                   model_.rho)
                     : std::string(),
        model_.family.residuals());
    figure(
        residual_quantiles_svg(kind, residuals, model_.scale),
        "Sorted residuals against normal quantiles. The line is that of a normal response with the model's "
        "scale.");
    figure(residual_scatter_svg(kind, predictors, residuals),
           "Residuals against the linear predictor: a trend or a changing spread speaks against the model.");
    figure(residual_histogram_svg(kind, residuals), "Histogram.");
    if (!outline.autocorrelation.empty() &&
        std::ranges::all_of(outline.autocorrelation, [](double one) { return std::isfinite(one); })) {
      figure(autocorrelation_svg(kind, outline.autocorrelation, model_.rows),
             "Autocorrelation within series, of all rows. 95 % of those of independent residuals are between "
             "the "
             "dashed lines.");
    }
    add("</div>\n</section>\n");
  }

  void run() {
    add("<section aria-labelledby=\"run\">\n<h2 id=\"run\">The run</h2>\n<p>The model was {}.</p>\n",
        escaped(model_.verdict));
    if (!options_.run) {
      add("<p class=\"note\">Who computed which rows, and where the time went, is in the run's own report: "
          "add "
          "<code>--run-report run.json</code> to <code>tessera-fit fit</code>, and again to "
          "<code>tessera-fit report</code>.</p>\n</section>\n");
      return;
    }
    const RunRecord& run = *options_.run;
    if (run.rows != model_.rows + model_.rows_dropped) {
      throw Error(ErrorCode::input,
                  fmt::format("the run report is of a table of {} rows and the model of one of {}: give the "
                              "two files of one fit",
                              run.rows, model_.rows + model_.rows_dropped));
    }
    add("<dl>\n");
    fact("Ranks", count_text(run.ranks));
    fact("Nodes", count_text(run.nodes));
    fact("Devices", count_text(run.devices));
    fact("Threads of a rank", count_text(run.threads));
    fact("Rows of a block", count_text(run.block));
    add("</dl>\n<div class=\"plots\">\n");
    figure(plan_svg(run),
           "The rows of the table, from the first to the last, by the rank that computed them.", "wide");
    add("</div>\n");
    parts(run);
    add("<div class=\"plots\">\n");
    figure(timeline_svg(run),
           "The time of rank 0. What was done several times, as the passes over the rows, is drawn in one "
           "piece.",
           "wide");
    add("</div>\n");
    phases(run);
    add("</section>\n");
  }

  void parts(const RunRecord& run) {
    add("<div class=\"scroll\"><table>\n<caption>Who computed which rows</caption>\n<thead><tr>"
        "<th scope=\"col\">Rank</th><th scope=\"col\" class=\"text\">Host</th>"
        "<th scope=\"col\" class=\"text\">Device</th><th scope=\"col\">First row</th>"
        "<th scope=\"col\">Last row</th><th scope=\"col\">Rows</th><th "
        "scope=\"col\">Share</th></tr></thead>\n"
        "<tbody>\n");
    const std::size_t shown = std::min(run.parts.size(), max_table_rows);
    for (std::size_t i = 0; i < shown; ++i) {
      const RunRecord::Part& part = run.parts[i];
      add("<tr><th scope=\"row\">{}</th><td class=\"text\">{}</td><td "
          "class=\"text\">{}</td><td>{}</td><td>{}</td>"
          "<td>{}</td><td>{:.1f}%</td></tr>\n",
          part.rank, escaped(part.host), escaped(part.device), count_text(part.begin + 1),
          count_text(part.end), count_text(part.end - part.begin),
          100 * static_cast<double>(part.end - part.begin) /
              static_cast<double>(std::max<std::int64_t>(run.rows, 1)));
    }
    add("</tbody>\n</table></div>\n");
    left_out(run.parts.size() - shown, "part", "the run report lists all");
  }

  void phases(const RunRecord& run) {
    add("<div class=\"scroll\"><table>\n<caption>Where the time went</caption>\n<thead><tr>"
        "<th scope=\"col\">Phase</th><th scope=\"col\">Seconds</th><th scope=\"col\">Bytes read</th>"
        "<th scope=\"col\">Bytes a second</th></tr></thead>\n<tbody>\n");
    for (const RunRecord::Phase& phase : run.phases) {
      const bool read = phase.bytes > 0 && phase.seconds > 0;
      add("<tr><th scope=\"row\">{}</th><td>{:.3f}</td><td>{}</td><td>{}</td></tr>\n", escaped(phase.name),
          phase.seconds, phase.bytes > 0 ? count_text(phase.bytes) : "",
          read ? bytes_text(static_cast<double>(phase.bytes) / phase.seconds) : "");
    }
    add("</tbody>\n</table></div>\n");
  }

  static std::string bytes_text(double bytes) {
    const char* unit = "B";
    for (const char* larger : {"kB", "MB", "GB", "TB"}) {
      if (bytes < 999.5) break;
      bytes /= 1000;
      unit = larger;
    }
    return fmt::format("{:.3g} {}", bytes, unit);
  }

  void foot() {
    add("</main>\n<footer>Written by tessera-fit {}. Curves are computed from the model's coefficients and "
        "their "
        "posterior covariance.</footer>\n</body>\n</html>\n",
        tessera::version());
  }

  const FittedModel& model_;
  const PageOptions& options_;
  std::vector<Effect> effects_;
  std::string out_;
};

}  // namespace

std::string report_page(const FittedModel& model, const PageOptions& options) {
  return Page(model, options).html();
}

}  // namespace tessera::gam
