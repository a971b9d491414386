// SPDX-License-Identifier: Apache-2.0
#include "gam/model/model.hpp"
#include "gam/report/report_json.hpp"
#include "gam/report/text_table.hpp"

#include <tessera/gam/anova.hpp>
#include <tessera/gam/report.hpp>

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <tessera/printable.hpp>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// `digits` significant digits; NaN is printed as NA.
std::string number(double value, int digits = 6) {
  return std::isnan(value) ? "NA" : fmt::format("{:.{}g}", value, digits);
}
std::string decimals(double value, int count) {
  return std::isnan(value) ? "NA" : fmt::format("{:.{}f}", value, count);
}

std::string name_of(const FittedModel& model) {
  return model.path.empty() ? std::string() : fmt::format(" ({})", model.path);
}

std::string terms_text(const Model& model) {
  const FittedModel& fitted = model.fitted();
  const char* const statistic = fitted.family.scale_is_known() ? "Chi.sq" : "F";
  const TermAnova terms = anova(model);
  std::string out =
      fmt::format("\nFamily: {}\nLink function: {}\n\nFormula:\n{}\n", printable(fitted.family.title()),
                  printable(fitted.family.link_name()), printable(fitted.formula));
  TextTable parametric{{"", "df", statistic, "p-value", ""}};
  for (const TermTest& test : terms.parametric)
    parametric.push_back(
        {test.label, number(test.df), statistic_text(test.statistic), p_text(test.p_value), ""});
  if (parametric.size() > 1) out += "\nParametric Terms:\n" + aligned(std::move(parametric));
  TextTable smooths{{"", "edf", "Ref.df", statistic, "p-value", ""}};
  for (const TermTest& test : terms.smooths)
    smooths.push_back({test.label, statistic_text(test.edf), statistic_text(test.df),
                       statistic_text(test.statistic), p_text(test.p_value), ""});
  if (smooths.size() > 1)
    out += "\nApproximate significance of smooth terms:\n" + aligned(std::move(smooths));
  return out;
}

std::string deviances_text(std::span<const Model> models, const DevianceTable& table) {
  std::string out = "\nAnalysis of Deviance Table\n\n";
  for (std::size_t i = 0; i < models.size(); ++i)
    out += printable(fmt::format("Model {}: {}{}", i + 1, models[i].formula(), name_of(models[i].fitted()))) +
           "\n";
  TextTable rows{{"", "Resid. Df", "Resid. Dev", "Df", "Deviance"}};
  if (table.test == DevianceTest::f) rows[0].insert(rows[0].end(), {"F", "Pr(>F)"});
  if (table.test == DevianceTest::chi_squared) rows[0].emplace_back("Pr(>Chi)");
  rows[0].emplace_back();
  for (const DevianceRow& row : table.rows) {
    const bool first = rows.size() == 1;
    const auto beside = [&](const std::string& text) { return first ? std::string() : text; };
    rows.push_back({std::to_string(rows.size()), decimals(row.residual_df, 2), number(row.residual_deviance),
                    beside(decimals(row.df, 3)), beside(number(row.deviance))});
    if (table.test == DevianceTest::f) rows.back().push_back(beside(statistic_text(row.statistic)));
    if (table.test != DevianceTest::none) rows.back().push_back(beside(p_text(row.p_value)));
    rows.back().emplace_back(stars(row.p_value));
  }
  return out + aligned(std::move(rows));
}

std::string figures_text(std::span<const Model> models, std::span<const ModelFigures> figures) {
  TextTable rows{{"", "n", "edf", "df", "logLik", "AIC", "m$aic", "deviance", "REML", ""}};
  bool unknown = false;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const Model& model = models[i];
    const ModelFigures& own = figures[i];
    unknown = unknown || std::isnan(own.edf2);
    rows.push_back({std::to_string(rows.size()), std::to_string(model.rows()), decimals(model.edf(), 2),
                    decimals(own.log_likelihood_df, 2), decimals(own.log_likelihood, 2), decimals(own.aic, 2),
                    decimals(own.plain_aic, 2), number(model.deviance()), number(model.fitted().reml, 8),
                    ""});
  }
  std::string out = "\n" + aligned(std::move(rows));
  if (unknown)
    out +=
        "The uncertainty of smoothing parameters is not known for models with several large random effects: "
        "their df excludes it\n";
  return out;
}

ReportJson model_json(const Model& model, const ModelFigures& figures) {
  const TermAnova terms = anova(model);
  ReportJson json = facts_json(model, figures);
  for (const auto& [name, tests] :
       {std::pair{"parametric", &terms.parametric}, std::pair{"smooths", &terms.smooths}}) {
    ReportJson& to = json[name] = ReportJson::array();
    for (const TermTest& test : *tests) to.push_back(test_json(test));
  }
  return json;
}

}  // namespace

std::string anova_text(std::span<const Model> models, DevianceTest test) {
  if (models.size() == 1)
    return terms_text(models[0]) + figures_text(models, std::array{figures_of(models[0])});
  const DevianceTable table = anova(models, test);
  return deviances_text(models, table) + figures_text(models, table.figures);
}

std::string anova_json(std::span<const Model> models, DevianceTest test) {
  ReportJson json{{"models", ReportJson::array()}};
  if (models.size() == 1) {
    json["models"].push_back(model_json(models[0], figures_of(models[0])));
    return json_text(json);
  }
  const DevianceTable table = anova(models, test);
  for (std::size_t i = 0; i < models.size(); ++i)
    json["models"].push_back(model_json(models[i], table.figures[i]));
  constexpr std::string_view names[]{"none", "F", "Chisq"};
  json["test"] = names[static_cast<std::size_t>(table.test)];
  json["deviances"] = ReportJson::array();
  for (const DevianceRow& row : table.rows)
    json["deviances"].push_back({{"residual_df", row.residual_df},
                                 {"residual_deviance", row.residual_deviance},
                                 {"df", row.df},
                                 {"deviance", row.deviance},
                                 {"F", row.statistic},
                                 {"p_value", row.p_value}});
  return json_text(json);
}

}  // namespace TESSERA_NAMESPACE::gam
