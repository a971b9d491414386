// SPDX-License-Identifier: Apache-2.0
#include "gam/report/summary.hpp"

#include "base/number.hpp"
#include "base/pluralised.hpp"
#include "gam/report/report_json.hpp"

#include <tessera/gam/report.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <tessera/printable.hpp>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Number of decimals for estimates and standard errors, as in R's printCoefmat: the smallest number has four
/// significant digits, and no column ends in zeros. Empty if the numbers differ too much for a common number
/// of decimals.
std::optional<int> shared_decimals(const FittedModel& model) {
  constexpr int digits = 4;
  constexpr int most = 9;
  int needed = 0;
  double largest = 0;
  for (const auto& test : model.coefficient_tests) {
    for (const double value : {test.estimate, test.standard_error}) {
      if (value == 0) continue;
      if (!std::isfinite(value)) return std::nullopt;
      largest = std::max(largest, std::abs(value));
      // Removes trailing zeros of the mantissa: "-1.500e-03" has two significant digits.
      std::string text = fmt::format("{:.{}e}", value, digits - 1);
      const std::size_t mark = text.find('e');
      const int exponent = base::decimal_exponent(text);
      text.resize(text.find_last_not_of('0', mark - 1) + 1);
      const int significant = static_cast<int>(
          std::count_if(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }));
      needed = std::max(needed, significant - 1 - exponent);
    }
  }
  if (needed > most || largest >= 1e6) return std::nullopt;
  return needed;
}

/// A value that is not finite, e.g. for a constant response, is printed as NA.
std::string share_text(double value, const char* unit) {
  return std::isfinite(value) ? fmt::format("{:.3g}{}", value, unit) : "NA";
}

}  // namespace

TextTable coefficient_table(const FittedModel& model) {
  const bool estimated = !model.family.scale_is_known();
  TextTable rows{{"", "Estimate", "Std. Error", estimated ? "t value" : "z value",
                  estimated ? "Pr(>|t|)" : "Pr(>|z|)", ""}};
  const std::optional<int> decimals = shared_decimals(model);
  const auto number = [&](double value, int digits) {
    return decimals ? fmt::format("{:.{}f}", value, *decimals) : fmt::format("{:.{}g}", value, digits);
  };
  for (const auto& test : model.coefficient_tests) {
    rows.push_back({test.name, number(test.estimate, 6), number(test.standard_error, 4),
                    fmt::format("{:.3f}", test.statistic), p_text(test.p_value),
                    std::string(stars(test.p_value))});
  }
  return rows;
}

TextTable smooth_table(const FittedModel& model) {
  TextTable rows{{"", "edf", "Ref.df", model.family.scale_is_known() ? "Chi.sq" : "F", "p-value", ""}};
  for (const auto& test : model.smooth_tests) {
    rows.push_back({test.label, fmt::format("{:.3f}", test.edf), statistic_text(test.reference_df),
                    statistic_text(test.statistic), p_text(test.p_value), std::string(stars(test.p_value))});
  }
  return rows;
}

namespace {

TextTable penalised_table(const FittedModel& model) {
  TextTable rows{{"", "edf", "sp", ""}};
  std::size_t penalty = 0;
  for (const CoefBlock& block : model.design.blocks) {
    std::string values;
    for (std::size_t j = 0; block.penalty && j < block.penalty->count(); ++j)
      values += fmt::format("{}{:.4g}", j == 0 ? "" : ", ", std::exp(model.log_sp[penalty++]));
    if (!values.empty() && !block.is_smooth())
      rows.push_back({block.label, fmt::format("{:.3f}", model.block_edf(block)), values, ""});
  }
  return rows;
}

}  // namespace

std::string summary_text(const FittedModel& model) {
  std::string out;
  auto to = std::back_inserter(out);
  fmt::format_to(to, "\nFamily: {}\nLink function: {}\n\nFormula:\n{}\n", printable(model.family.title()),
                 printable(model.family.link_name()), printable(model.formula));

  bool any_stars = false;
  const auto print = [&](const char* title, const TextTable& rows) {
    if (rows.size() == 1) return;
    fmt::format_to(to, "\n{}:\n{}", title, aligned(rows));
    any_stars = any_stars ||
                std::any_of(rows.begin(), rows.end(), [](const auto& row) { return !row.back().empty(); });
  };
  print("Parametric coefficients", coefficient_table(model));
  print("Penalised parametric terms", penalised_table(model));
  print("Approximate significance of smooth terms", smooth_table(model));
  if (!model.design.left_out.empty()) {
    fmt::format_to(to, "\nDropped, linearly dependent on other terms: {}\n",
                   printable(fmt::format("{}", fmt::join(model.design.left_out, ", "))));
  }
  if (any_stars) fmt::format_to(to, "---\nSignif. codes:  0 '***' 0.001 '**' 0.01 '*' 0.05 '.' 0.1 ' ' 1\n");

  const std::string explained = share_text(100 * model.deviance_explained(), "%");
  if (model.family.several() != nullptr) {
    if (!std::isnan(model.null_deviance)) fmt::format_to(to, "\nDeviance explained = {}", explained);
    fmt::format_to(to, "\nREML = {:.5g}  n = {}\n", model.reml, model.rows);
  } else {
    const std::string r_squared =
        model.family.has_outputs()
            ? ""
            : fmt::format("R-sq.(adj) = {:>6}   ", share_text(model.r_squared_adjusted, ""));
    fmt::format_to(to, "\n{}Deviance explained = {}\n", r_squared, explained);
    fmt::format_to(to, "fREML = {:.5g}  Scale est. = {:.5g}  n = {}\n", model.reml, model.scale, model.rows);
  }
  if (model.rho != 0) {
    fmt::format_to(
        to, "AR1 residuals: rho = {:.5g}{}\n", model.rho,
        model.ar_start.empty() ? "" : printable(fmt::format(", series begin at {}", model.ar_start)));
  }
  if (model.rows_dropped > 0) {
    fmt::format_to(
        to, "({} {}with missing values {} left out)\n", base::pluralised(model.rows_dropped, "row"),
        model.subset.empty() ? "" : "outside the subset or ", model.rows_dropped == 1 ? "was" : "were");
  }
  if (!model.no_estimate.empty()) {
    fmt::format_to(to, "There is NO finite estimate: {}.\n", printable(model.no_estimate));
  } else if (!model.converged) {
    fmt::format_to(to, "The fit has NOT converged: do not rely on it.\n");
    if (!model.why_not_converged.empty()) fmt::format_to(to, "({})\n", printable(model.why_not_converged));
  }
  if (!std::isnan(model.aic)) fmt::format_to(to, "AIC = {:.8g}  ", model.aic);
  fmt::format_to(to, "iterations = {}\n", model.iterations);
  return out;
}

std::string summary_json(const Model& model) {
  const FittedModel& fitted = model.fitted();
  ReportJson json = facts_json(model, figures_of(model));
  const auto names = fitted.family.parameter_names();
  for (std::size_t i = 0; i < names.size(); ++i)
    json["parameters"][std::string(names[i])] = fitted.family.parameters()[i];
  json["coefficient_statistic"] = fitted.family.scale_is_known() ? "z" : "t";
  json["coefficients"] = ReportJson::array();
  for (const CoefficientTest& test : fitted.coefficient_tests)
    json["coefficients"].push_back({{"name", test.name},
                                    {"estimate", test.estimate},
                                    {"standard_error", test.standard_error},
                                    {"statistic", test.statistic},
                                    {"p_value", test.p_value}});
  json["smooths"] = ReportJson::array();
  for (const SmoothTest& test : fitted.smooth_tests)
    json["smooths"].push_back(
        test_json({test.label, test.reference_df, test.edf, test.statistic, test.p_value}));
  json["left_out"] = fitted.design.left_out;
  json["r_squared_adjusted"] = fitted.r_squared_adjusted;
  json["null_deviance"] = fitted.null_deviance;
  json["deviance_explained"] = fitted.deviance_explained();
  json["rows_dropped"] = fitted.rows_dropped;
  json["rho"] = fitted.rho;
  if (!fitted.ar_start.empty()) json["ar_start"] = fitted.ar_start;
  json["iterations"] = fitted.iterations;
  json["converged"] = fitted.converged;
  if (!fitted.no_estimate.empty()) json["no_estimate"] = fitted.no_estimate;
  if (!fitted.why_not_converged.empty()) json["not_converged"] = fitted.why_not_converged;
  return json_text(json);
}

}  // namespace TESSERA_NAMESPACE::gam
