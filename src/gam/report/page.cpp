// SPDX-License-Identifier: Apache-2.0
#include "gam/report/page.hpp"

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "gam/family/response_distribution.hpp"
#include "gam/report/check_tables.hpp"
#include "gam/report/discrete_plots.hpp"
#include "gam/report/effects.hpp"
#include "gam/report/figures.hpp"
#include "gam/report/page_writer.hpp"
#include "gam/report/residual_plots.hpp"
#include "gam/report/summary.hpp"
#include "gam/report/term_plots.hpp"
#include "gam/report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <tessera/version.hpp>
#include <utility>
#include <variant>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Maximum number of term plots on a page: browsers are slow with more.
constexpr std::size_t max_pictures = 200;

class Page : PageWriter {
 public:
  Page(const FittedModel& model, const PageOptions& options)
      : model_(model),
        options_(options),
        rows_(options.rows != nullptr ? &options.rows->sample : nullptr),
        effects_(effects_of(model)) {
    for (std::size_t next = 0; next < effects_.size();) {
      if (!std::holds_alternative<Curve>(effects_[next].shape)) {
        ++next;
        continue;
      }
      CurvePanel panel = panel_of(effects_, next, model, rows_);
      panels_.push_back({std::move(panel), next});
    }
  }

  Report report() {
    const std::string response = model_.formula.substr(0, model_.formula.find('~'));
    head("A model of " + shortened(response.substr(0, response.find_last_not_of(' ') + 1), 60),
         model_.formula);
    summary();
    smooths();
    factors();
    residuals();
    checks();
    run();
    return foot();
  }

 private:
  struct Panel {
    CurvePanel curves;
    std::size_t end;  ///< index of the effect after the panel's last one
  };

  /// `stars`: whether the last column has significance stars.
  void table(std::string_view caption, const TextTable& rows, bool stars, std::string_view command) {
    if (rows.size() < 2) return;
    add("<div class=\"scroll\"><table>\n<caption>{}</caption>\n<thead><tr>", caption);
    for (std::size_t j = 0; j + 1 < rows[0].size(); ++j)
      add("<th scope=\"col\">{}</th>", j == 0 ? "Term" : escaped(rows[0][j]));
    if (stars) add("<th scope=\"col\">Signif.</th>");
    add("</tr></thead>\n<tbody>\n");
    const std::size_t shown = std::min(rows.size(), max_table_rows + 1);
    for (std::size_t i = 1; i < shown; ++i) {
      add("<tr><th scope=\"row\">{}</th>", escaped(rows[i][0]));
      for (std::size_t j = 1; j + 1 < rows[i].size(); ++j)
        add("<td>{}</td>", escaped(signed_text(rows[i][j])));
      if (stars) add("<td class=\"stars\">{}</td>", rows[i].back());
      add("</tr>\n");
    }
    add("</tbody>\n</table></div>\n");
    left_out(rows.size() - shown, "row", fmt::format("tessera-fit {} prints all", command));
  }

  /// Replaces a leading '-' by a true minus sign.
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
    if (model_.rows_dropped > 0) {
      fact(model_.subset.empty() ? "Left out, with missing values"
                                 : "Left out, outside the subset or with missing values",
           count_text(model_.rows_dropped));
    }
    if (!model_.weights.empty()) fact("Prior weights", model_.weights);
    const bool several = model_.family.several() != nullptr;
    if (!several || !std::isnan(model_.null_deviance))
      fact("Deviance explained", fmt::format("{:.3g}%", 100 * model_.deviance_explained()));
    if (!several) fact("R-sq.(adj)", signed_text(fmt::format("{:.3g}", model_.r_squared_adjusted)));
    fact(several ? "REML" : "fREML", signed_text(fmt::format("{:.5g}", model_.reml)));
    if (!several) fact("Scale est.", fmt::format("{:.5g}", model_.scale));
    if (!std::isnan(model_.aic)) fact("AIC", signed_text(fmt::format("{:.8g}", model_.aic)));
    fact("Total edf", fmt::format("{:.2f}", model_.edf_total));
    fact("Iterations", fmt::format("{}", model_.iterations));
    add("</dl>\n");
    table("Parametric coefficients", coefficient_table(model_), true, "summary");
    table("Approximate significance of smooth terms", smooth_table(model_), true, "summary");
    add("<p class=\"note\">Signif. codes: 0 *** 0.001 ** 0.01 * 0.05 . 0.1 (blank) 1</p>\n</section>\n");
  }

  /// The y axis that all curves share, if requested.
  [[nodiscard]] std::optional<Interval> common_axis() const {
    if (!options_.same_y_scale) return std::nullopt;
    Interval all = no_interval;
    for (const Panel& panel : panels_) {
      const Interval one = extent_of(panel.curves);
      all = {std::min(all.low, one.low), std::max(all.high, one.high)};
    }
    return axis_of(all);
  }

  static bool is_smooth(const Effect& effect) {
    const auto* levels = std::get_if<Levels>(&effect.shape);
    return levels == nullptr || levels->random;
  }

  [[nodiscard]] std::string row_locations() const {
    const auto any = [&](auto is) { return std::any_of(effects_.begin(), effects_.end(), is); };
    const bool curves = !panels_.empty();
    const bool maps = any([](const Effect& effect) { return std::holds_alternative<Surface>(effect.shape); });
    std::string text;
    if (rows_ == nullptr) {
      if ((curves || maps) && model_.outline.variables.empty() && model_.outline.linear_predictor.empty())
        return " The model does not hold where the rows lie: curves and maps may reach beyond them.";
      if (curves) text += " Bars at the foot of a curve show where the rows lie.";
      if (maps && model_.outline.occupancy.empty())
        text += " Maps may reach beyond the rows: with <code>--data</code> they end there.";
      else if (maps)
        text +=
            " Maps end where the nearest row is farther than a tenth of their extent, measured on a grid of "
            "40 by 40 cells.";
      return text;
    }
    const RowSample& rows = *rows_;
    if (curves || maps)
      text += fmt::format(" {}{}{} show {}.", curves ? "Lines or bars at the foot of a curve" : "",
                          curves && maps ? " and dots on a map" : "", !curves && maps ? "Dots on a map" : "",
                          rows_text(std::ssize(rows.response), rows.rows));
    if (maps) text += " Maps end where the nearest row is farther than a tenth of their extent.";
    if (std::ranges::any_of(panels_, [](const Panel& one) { return !one.curves.partial.empty(); })) {
      text +=
          is_binomial(model_.family)
              ? " Dots are means of partial residuals in groups of rows: what the term adds, plus the "
                "weighted working residual."
              : " Dots about a curve are partial residuals: what the term adds, plus the weighted working "
                "residual.";
    }
    return text;
  }

  static std::string rows_text(std::int64_t shown, std::int64_t rows) {
    return shown == rows ? fmt::format("all {} rows", count_text(rows))
                         : fmt::format("{} of the {} rows, spread evenly over the table", count_text(shown),
                                       count_text(rows));
  }

  void smooths() {
    if (std::none_of(effects_.begin(), effects_.end(), is_smooth)) return;
    add("<section aria-labelledby=\"smooths\">\n<h2 id=\"smooths\">Smooth terms</h2>\n<p class=\"note\">"
        "On the scale of the linear predictor, each centred as the fit has it; in the label of an axis, the "
        "effective degrees of freedom. Bands and intervals are \u00b12 standard errors.{}</p>\n"
        "<div class=\"plots\">\n",
        row_locations());
    const std::optional<Interval> axis = common_axis();
    std::size_t pictures = 0;
    std::size_t rest = 0;
    std::vector<std::string> not_drawn;
    auto panel = panels_.begin();
    for (std::size_t next = 0; next < effects_.size();) {
      const Effect& effect = effects_[next];
      if (std::holds_alternative<Curve>(effect.shape)) {
        if (++pictures > max_pictures)
          ++rest;
        else
          curves(panel->curves, axis);
        next = panel++->end;
        continue;
      }
      ++next;
      if (!is_smooth(effect)) continue;
      if (std::holds_alternative<NotDrawn>(effect.shape)) {
        not_drawn.push_back(effect.label);
      } else if (++pictures > max_pictures) {
        ++rest;
      } else {
        smooth(effect);
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

  void curves(const CurvePanel& panel, std::optional<Interval> axis) {
    const std::size_t lines = panel.curve.lines.size();
    std::string caption =
        lines == 1 ? std::string()
                   : fmt::format("<code>{}</code>: {} levels, one line each.", escaped(panel.title), lines);
    const Interval extent = extent_of(panel);
    constexpr double flat = 0.1;
    if (axis && extent.high - extent.low < flat * (axis->high - axis->low)) {
      axis.reset();
      caption +=
          fmt::format("{}An axis of its own: on the others' it would be flat.", caption.empty() ? "" : " ");
    }
    const bool partial = std::ranges::any_of(panel.partial, [](const auto& one) { return !one.x.empty(); });
    figure(panel.label,
           {curve_svg(panel, model_.outline, axis), curve_csv(panel),
            partial ? partial_csv(panel) : std::string()},
           caption);
  }

  void smooth(const Effect& effect) {
    const std::string title = "<code>" + escaped(effect.title) + "</code>";
    if (const auto* surface = std::get_if<Surface>(&effect.shape)) {
      const Places sampled = rows_ != nullptr ? places_of(effect, *surface, *rows_) : Places();
      // Occupied cells of the outline complete a partial sample, except for a by factor: the outline ignores
      // levels.
      Places all = sampled;
      if (rows_ == nullptr || (!rows_->is_whole() && effect.by_factor.empty())) {
        const Places cells = places_of(*surface, model_.outline);
        all.x.insert(all.x.end(), cells.x.begin(), cells.x.end());
        all.y.insert(all.y.end(), cells.y.begin(), cells.y.end());
      }
      const Surface drawn = all.x.empty() ? *surface : without_far(*surface, all);
      SurfacePictures pair = surface_svg(effect, drawn, sampled.x.empty() ? nullptr : &sampled);
      figure(effect.label, {std::move(pair.estimate), surface_csv(drawn)}, title + ": estimate");
      figure(effect.label + " standard error", {std::move(pair.standard_error)},
             title + ": standard error, large where there are few rows or none");
    } else if (const auto* levels = std::get_if<Levels>(&effect.shape)) {
      const std::size_t count = levels->names.size();
      figure(effect.label, {levels_svg(effect, *levels), levels_csv(*levels)},
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
        "A level at zero without an interval is the reference level.</p>\n<div class=\"plots\">\n");
    std::vector<std::string> not_drawn;
    for (const Effect* effect : factors) {
      const auto& levels = std::get<Levels>(effect->shape);
      if (levels.names.size() > 4 * max_listed) {
        not_drawn.push_back(effect->label);
        continue;
      }
      figure(effect->label, {levels_svg(*effect, levels), levels_csv(levels)}, {});
    }
    add("</div>\n");
    for (const std::string& label : not_drawn) {
      add("<p class=\"note\"><code>{}</code> has too many levels to be drawn.</p>\n", escaped(label));
    }
    add("</section>\n");
  }

  /// The residuals to plot, and their explanation on the page.
  struct Residuals {
    const char* kind = "deviance";
    double scale = 1;
    std::vector<std::size_t> rows{};  ///< indices in the sample
    std::vector<double> predictors{};
    std::vector<double> values{};
    std::string about{};

    void add(std::size_t row, double predictor, double value) {
      if (!std::isfinite(predictor) || !std::isfinite(value)) return;
      rows.push_back(row);
      predictors.push_back(predictor);
      values.push_back(value);
    }
    void add(std::span<const double> all_predictors, std::span<const double> all_values) {
      for (std::size_t row = 0; row < all_values.size(); ++row)
        add(row, all_predictors[row], all_values[row]);
    }
  };

  static constexpr char about_quantile[] =
      " Each is the normal quantile of the probability of a smaller response, plus a random part of that of "
      "the response itself: normal if the model is true.";

  static std::vector<double> predictors_of(const RowSample& rows, std::size_t row) {
    std::vector<double> eta;
    for (const std::vector<double>& predictor : rows.linear_predictors) eta.push_back(predictor[row]);
    return eta;
  }

  /// Standardised residuals for an AR1 model. Quantile residuals for discrete responses and several linear
  /// predictors, if the distribution is known. Otherwise deviance residuals.
  [[nodiscard]] Residuals residuals_of(const std::optional<ResponseSample>& discrete) const {
    const DataOutline& outline = model_.outline;
    Residuals out;
    out.scale = model_.scale;
    if (!outline.standardised_residual.empty()) {
      out.kind = "standardised";
      out.about = fmt::format(
          " Each is the deviance residual minus rho = {:.5g} times that of the previous row in its series, "
          "divided by the square root of 1 - rho².",
          model_.rho);
      out.add(outline.linear_predictor, outline.standardised_residual);
      out.about += model_.family.residuals();
      return out;
    }
    if (discrete) {
      const std::vector<double> values = quantile_residuals(model_, *discrete);
      if (!values.empty()) {
        out.kind = "quantile";
        out.scale = 1;
        out.about = about_quantile;
        for (std::size_t i = 0; i < values.size(); ++i)
          out.add(discrete->row.empty() ? i : discrete->row[i], discrete->predictor[i], values[i]);
        return out;
      }
    }
    out.about = model_.family.residuals();
    if (rows_ == nullptr) {
      out.add(outline.linear_predictor, outline.deviance_residual);
      return out;
    }
    if (const SeveralFamily* several = model_.family.several()) {
      const bool weighted = std::ranges::any_of(rows_->weight, [](double one) { return one != 1; });
      if (!weighted) {
        out.kind = "quantile";
        out.about = about_quantile;
      }
      for (std::size_t row = 0; row < rows_->size(); ++row) {
        const std::vector<double> eta = predictors_of(*rows_, row);
        const double y = rows_->response[row];
        if (!(rows_->weight[row] > 0)) continue;
        out.add(row, eta[0],
                weighted ? several->deviance_residual(y, rows_->weight[row], eta)
                         : quantile_residual(several->probabilities(y, eta), base::split_mix(row)));
      }
      return out;
    }
    for (std::size_t row = 0; row < rows_->size(); ++row) {
      if (!(rows_->weight[row] > 0)) continue;
      const double eta = rows_->linear_predictor()[row];
      const double mean = model_.family.mean(eta);
      const double deviance = model_.family.deviance(rows_->response_of(row), mean, rows_->weight[row]);
      out.add(row, eta,
              std::copysign(std::sqrt(std::max(0.0, deviance)),
                            model_.family.residual_side(rows_->response[row], mean)));
    }
    return out;
  }

  void residuals() {
    add("<section aria-labelledby=\"residuals\">\n<h2 id=\"residuals\">Residuals</h2>\n");
    const std::optional<ResponseSample> discrete = discrete_responses(model_, rows_);
    const Residuals shown = residuals_of(discrete);
    if (shown.values.size() < 2) {
      add("<p class=\"note\">The model holds no residuals: it was fitted with <code>--no-residuals</code>, "
          "or by a version of tessera-fit that did not keep them. With <code>--data</code> they are computed "
          "from the table.</p>\n</section>\n");
      return;
    }
    const auto count = static_cast<std::int64_t>(shown.values.size());
    std::string kind = shown.kind;
    kind[0] = static_cast<char>(kind[0] - 'a' + 'A');
    add("<p class=\"note\">{} residuals of {}.{} Lines through residuals are means in groups of rows; "
        "95 % of them are in the band where residuals do not depend on what they are plotted against.</p>\n"
        "<div class=\"plots\">\n",
        kind, rows_text(count, model_.rows), shown.about);
    figure("residuals quantiles", residual_qq_plot(shown.kind, shown.values, shown.scale),
           "Sorted residuals against normal quantiles. The line is that of a normal response with the "
           "model's scale; 95 % of its residuals are in the band.");
    figure(
        "residuals predictor",
        residual_scatter(shown.kind, "linear predictor", "linear_predictor", shown.predictors, shown.values),
        "Residuals against the linear predictor: the model is doubtful if there is a trend or the spread "
        "changes.");
    for (std::size_t p = 1; rows_ != nullptr && p < std::min(rows_->linear_predictors.size(), max_pictures);
         ++p) {
      std::vector<double> predictors;
      for (const std::size_t row : shown.rows) predictors.push_back(rows_->linear_predictors[p][row]);
      figure(fmt::format("residuals predictor {}", p),
             residual_scatter(shown.kind, fmt::format("linear predictor {}", p),
                              fmt::format("linear_predictor.{}", p), predictors, shown.values),
             {});
    }
    figure("residuals histogram", residual_histogram(shown.kind, shown.values), "Histogram.");
    if (discrete) discrete_residuals(*discrete, shown.kind);
    if (rows_ != nullptr && !is_binomial(model_.family) && !model_.family.has_classes()) observed(*rows_);
    const std::vector<double>& autocorrelation = model_.outline.autocorrelation;
    if (!autocorrelation.empty() &&
        std::ranges::all_of(autocorrelation, [](double one) { return std::isfinite(one); })) {
      figure("residuals autocorrelation", residual_autocorrelation(shown.kind, autocorrelation, model_.rows),
             "Autocorrelation within series, of all rows. 95 % of those of independent residuals are between "
             "the dashed lines.");
    }
    add("</div>\n</section>\n");
    if (rows_ != nullptr && shown.rows.back() < rows_->size()) covariates(shown, *rows_);
  }

  void observed(const RowSample& rows) {
    std::vector<double> fitted;
    std::vector<double> responses;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const SeveralFamily* const several = model_.family.several();
      const double mean = several != nullptr ? several->level(predictors_of(rows, row)).mean
                                             : model_.family.fitted(rows.linear_predictor()[row]);
      if (!(rows.weight[row] > 0) || !std::isfinite(mean)) continue;
      fitted.push_back(mean);
      responses.push_back(rows.response[row]);
    }
    if (fitted.size() < 2) return;
    figure("observed fitted", observed_scatter(fitted, responses),
           "Observed responses against fitted means, with the line on which they are equal; large dots are "
           "means in groups of rows.");
  }

  void covariates(const Residuals& shown, const RowSample& rows) {
    const std::vector<std::string>& names = rows.covariates;
    if (names.empty()) return;
    add("<section aria-labelledby=\"covariates\">\n<h2 id=\"covariates\">Residuals by covariates</h2>\n"
        "<p class=\"note\">Means outside the band: the model misses a part of the dependence on the "
        "variable. Boxes show the quartiles of the residuals of a level, whiskers the last residual within "
        "one and a "
        "half times the box; large dots are means.</p>\n<div class=\"plots\">\n");
    const std::size_t drawn = std::min(names.size(), max_pictures);
    for (std::size_t i = 0; i < drawn; ++i) {
      const RowSample::Column* column = column_of(rows.variables, names[i]);
      if (column == nullptr) continue;
      std::vector<double> values;
      for (const std::size_t row : shown.rows) values.push_back(column->values[row]);
      if (column->levels.empty()) {
        figure("residuals " + names[i],
               residual_scatter(shown.kind, names[i], names[i], values, shown.values), {});
        continue;
      }
      figure(
          "residuals " + names[i], residual_boxes(shown.kind, names[i], column->levels, values, shown.values),
          column->levels.size() > max_boxes
              ? fmt::format("<code>{}</code>: the {} of {} levels whose means are the farthest from that of "
                            "all, in standard errors.",
                            escaped(names[i]), max_boxes, count_text(std::ssize(column->levels)))
              : fmt::format("<code>{}</code>", escaped(names[i])));
    }
    add("</div>\n");
    left_out(names.size() - drawn, "variable", "tessera-fit predict gives the fitted values of a table");
    add("</section>\n");
  }

  void checks() {
    add("<section aria-labelledby=\"checks\">\n<h2 id=\"checks\">Checks</h2>\n");
    if (options_.rows == nullptr) {
      add("<p class=\"note\">With <code>--data</code>, the table of the fit, the page has the dimensions of "
          "bases, concurvity, and residuals by covariates.</p>\n</section>\n");
      return;
    }
    const Check& check = options_.rows->check;
    add("<p class=\"note\">The results of <code>tessera-fit check</code>, for all rows unless stated "
        "otherwise.</p>\n<dl>\n");
    const auto number = [](double value, int digits = 4) {
      return std::isnan(value) ? std::string("NA") : number_text(value, digits);
    };
    fact("Dispersion, Pearson", number(check.pearson_dispersion));
    fact("Dispersion, deviance", number(check.deviance_dispersion));
    fact("Skewness of residuals", number(check.residuals.skewness));
    fact("Kurtosis of residuals", number(check.residuals.kurtosis));
    if (const QuantileResiduals& own = check.quantile_residuals; !own.residuals.empty())
      fact("Quantile residuals outside their 95 % band", fmt::format("{:.2f}%", 100 * share_outside(own)));
    if (check.zeros) {
      fact("Zeros", number(check.zeros->observed, 9));
      fact("Zeros expected",
           fmt::format("{} \u00b1 {}", number(check.zeros->expected, 6), number(check.zeros->deviation)));
    }
    add("</dl>\n");
    if (!check.bases.empty()) {
      table("Dimensions of bases", basis_table(check), true, "check");
      add("<p class=\"note\">From {}. A low p-value with a k-index below 1 may mean that k is too low, "
          "especially if edf is close to k\u2032.</p>\n",
          basis_sample_text(check, options_.rows->options));
    }
    if (!check.concurvity.labels.empty()) {
      table("Concurvity", concurvity_table(check.concurvity), false, "check");
      add("<p class=\"note\">The part of a term that the other terms explain, from 0 to 1: of its worst "
          "function, of its estimate, and of all its columns. <code>tessera-fit check</code> also compares "
          "pairs.</p>\n");
    }
    add("</section>\n");
  }

  void discrete_residuals(const ResponseSample& sample, std::string_view kind) {
    figure("residuals binned", binned_residuals(model_, sample),
           "Mean Pearson residuals in groups of rows of similar predictors. 95 % of them are in the band if "
           "the model is true.");
    if (is_binomial(model_.family)) {
      figure("observed fitted", proportions(model_, sample),
             "Observed against fitted proportions in groups of rows, with \u00b12 standard errors about the "
             "latter.");
    } else if (kind == "quantile") {
      figure("rootogram", rootogram(model_, sample),
             "Hanging rootogram: square roots of the numbers of rows with each count hang from the expected "
             "ones. Bars that end within the dashed lines fit.");
    }
  }

  void run() {
    add("<section aria-labelledby=\"run\">\n<h2 id=\"run\">The run</h2>\n<p>The model was {}.</p>\n",
        escaped(model_.verdict));
    if (!options_.run) {
      add("<p class=\"note\">The run report tells which rank computed which rows, and how long it took: add "
          "<code>--run-report run.json</code> to <code>tessera-fit fit</code>, and again to "
          "<code>tessera-fit report</code>.</p>\n</section>\n");
      return;
    }
    const RunRecord& run = *options_.run;
    if (run.rows != model_.rows + model_.rows_dropped) {
      throw base::input_error(
          "the run report has {} rows, but the model has {}: give the run report and the model of the same "
          "fit",
          run.rows, model_.rows + model_.rows_dropped);
    }
    add("<dl>\n");
    fact("Ranks", count_text(run.ranks));
    fact("Nodes", count_text(run.nodes));
    fact("Devices", count_text(run.devices));
    fact("Threads per rank", count_text(run.threads));
    fact("Rows per block", count_text(run.block));
    add("</dl>\n<div class=\"plots\">\n");
    figure("run rows", {plan_svg(run)},
           "The rows of the table, from the first to the last, by the rank that computed them.", "wide");
    add("</div>\n");
    parts(run);
    add("<div class=\"plots\">\n");
    figure(
        "run times", {timeline_svg(run)},
        "The time of rank 0. A phase that ran several times, such as the passes over the rows, is drawn in "
        "one piece.",
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

  const FittedModel& model_;
  const PageOptions& options_;
  const RowSample* rows_;
  std::vector<Effect> effects_;
  std::vector<Panel> panels_;
};

}  // namespace

Report report_page(const FittedModel& model, const PageOptions& options) {
  return Page(model, options).report();
}

}  // namespace TESSERA_NAMESPACE::gam
