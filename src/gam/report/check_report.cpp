// SPDX-License-Identifier: Apache-2.0
#include "gam/report/check_tables.hpp"
#include "gam/report/report_json.hpp"
#include "gam/report/text.hpp"
#include "gam/report/text_table.hpp"

#include <tessera/gam/check.hpp>
#include <tessera/gam/report.hpp>

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

std::string significant(double value, int digits = 4) {
  return std::isnan(value) ? "NA" : fmt::format("{:.{}g}", value, digits);
}

std::string bases_text(const Check& check, const CheckOptions& options) {
  if (check.bases.empty()) return {};
  return fmt::format(
      "\nBasis dimension (k) checking results. A low p-value (k-index < 1) may mean that k is too low,\n"
      "especially if edf is close to k'.\n{}({})\n",
      aligned(basis_table(check)), basis_sample_text(check, options));
}

std::string residuals_text(const Check& check) {
  const ResidualSummary& one = check.residuals;
  TextTable rows{{"", "Min", "1Q", "Median", "3Q", "Max", "Mean", "SD", "Skewness", "Kurtosis", ""}, {""}};
  for (const double value : {one.least, one.quartiles[0], one.quartiles[1], one.quartiles[2], one.largest,
                             one.mean, one.deviation, one.skewness, one.kurtosis})
    rows[1].push_back(significant(value));
  rows[1].emplace_back();
  std::string out =
      fmt::format("\nDeviance residuals{}:\n{}",
                  check.sample < check.rows ? " (quartiles of the sample)" : "", aligned(std::move(rows)));
  if (const QuantileResiduals& own = check.quantile_residuals; !own.residuals.empty())
    out += fmt::format(
        "Quantile residuals: {:.2f} % of {} lie outside the band that contains each with probability 95 %\n",
        100 * share_outside(own), count_text(std::ssize(own.residuals)));
  out += fmt::format("\nDispersion: {} by Pearson residuals, {} by deviance residuals\n",
                     significant(check.pearson_dispersion), significant(check.deviance_dispersion));
  if (check.zeros)
    out += fmt::format("Zeros: {} observed, {} expected (standard deviation {})\n", check.zeros->observed,
                       significant(check.zeros->expected, 6), significant(check.zeros->deviation));
  return out;
}

constexpr std::array<std::pair<const char*, double Concurvity::Values::*>, 3> measures{
    {{"worst", &Concurvity::Values::worst},
     {"observed", &Concurvity::Values::observed},
     {"estimate", &Concurvity::Values::estimate}}};

std::string concurvity_text(const Concurvity& concurvity) {
  if (concurvity.labels.empty()) return {};
  const auto row = [&](std::string name, std::span<const Concurvity::Values> values,
                       double Concurvity::Values::*measure) {
    std::vector<std::string> out{std::move(name)};
    for (const Concurvity::Values& one : values) out.push_back(significant(one.*measure, 3));
    out.emplace_back();
    return out;
  };
  std::vector<std::string> heading{""};
  heading.insert(heading.end(), concurvity.labels.begin(), concurvity.labels.end());
  heading.emplace_back();
  TextTable whole{heading};
  for (const auto& [name, measure] : measures) whole.push_back(row(name, concurvity.whole, measure));
  std::string out = "\nConcurvity of each term with all others:\n" + aligned(std::move(whole));
  const std::size_t count = concurvity.labels.size();
  if (count < 2) return out;
  for (const auto& [name, measure] : measures) {
    TextTable pairs{heading};
    for (std::size_t i = 0; i < count; ++i)
      pairs.push_back(
          row(concurvity.labels[i], std::span(concurvity.pairwise).subspan(i * count, count), measure));
    out += fmt::format("\nConcurvity of each column's term with each row's, {}:\n{}", name,
                       aligned(std::move(pairs)));
  }
  return out;
}

std::string autocorrelation_text(const Check& check) {
  if (check.autocorrelation.empty()) return {};
  TextTable rows{{"lag", "autocorrelation", ""}};
  for (const double one : check.autocorrelation)
    rows.push_back({std::to_string(rows.size()), fmt::format("{:.4f}", one), ""});
  return "\nAutocorrelation of residuals in the order of the rows:\n" + aligned(std::move(rows));
}

}  // namespace

TextTable basis_table(const Check& check) {
  TextTable rows{{"", "k'", "edf", "k-index", "p-value", ""}};
  for (const BasisCheck& one : check.bases)
    rows.push_back({one.label, std::to_string(one.coefficients), fmt::format("{:.2f}", one.edf),
                    std::isnan(one.k_index) ? "NA" : fmt::format("{:.2f}", one.k_index), p_text(one.p_value),
                    std::string(stars(one.p_value))});
  return rows;
}

std::string basis_sample_text(const Check& check, const CheckOptions& options) {
  return fmt::format("{}, {} permutations, seed {}",
                     check.sample < check.rows ? fmt::format("a sample of {} of {} rows",
                                                             count_text(check.sample), count_text(check.rows))
                                               : fmt::format("all {} rows", count_text(check.rows)),
                     options.permutations, options.seed);
}

TextTable concurvity_table(const Concurvity& concurvity) {
  TextTable rows{{""}};
  for (const auto& [name, measure] : measures) rows[0].emplace_back(name);
  rows[0].emplace_back();
  for (std::size_t i = 0; i < concurvity.labels.size(); ++i) {
    std::vector<std::string>& row = rows.emplace_back(1, concurvity.labels[i]);
    for (const auto& [name, measure] : measures) row.push_back(significant(concurvity.whole[i].*measure, 3));
    row.emplace_back();
  }
  return rows;
}

double share_outside(const QuantileResiduals& own) {
  std::size_t outside = 0;
  for (std::size_t i = 0; i < own.residuals.size(); ++i)
    outside += own.residuals[i] < own.lower[i] || own.residuals[i] > own.upper[i] ? 1 : 0;
  return static_cast<double>(outside) / static_cast<double>(own.residuals.size());
}

std::string check_text(const Check& check, const CheckOptions& options) {
  return bases_text(check, options) + residuals_text(check) + concurvity_text(check.concurvity) +
         autocorrelation_text(check);
}

std::string check_json(const Check& check, const CheckOptions& options) {
  ReportJson json{{"n", check.rows},
                  {"sample", check.sample},
                  {"seed", options.seed},
                  {"permutations", options.permutations},
                  {"bases", ReportJson::array()}};
  for (const BasisCheck& one : check.bases)
    json["bases"].push_back({{"term", one.label},
                             {"coefficients", one.coefficients},
                             {"edf", one.edf},
                             {"k_index", one.k_index},
                             {"p_value", one.p_value}});
  const ResidualSummary& residuals = check.residuals;
  json["residuals"] = {{"mean", residuals.mean},         {"standard_deviation", residuals.deviation},
                       {"skewness", residuals.skewness}, {"kurtosis", residuals.kurtosis},
                       {"min", residuals.least},         {"quartiles", residuals.quartiles},
                       {"max", residuals.largest}};
  if (const QuantileResiduals& own = check.quantile_residuals; !own.residuals.empty())
    json["quantile_residuals"] = {{"residuals", own.residuals},
                                  {"normal", own.normal},
                                  {"lower", own.lower},
                                  {"upper", own.upper},
                                  {"share_outside", share_outside(own)}};
  json["dispersion"] = {{"pearson", check.pearson_dispersion}, {"deviance", check.deviance_dispersion}};
  if (check.zeros)
    json["zeros"] = {{"observed", check.zeros->observed},
                     {"expected", check.zeros->expected},
                     {"standard_deviation", check.zeros->deviation}};
  if (const Concurvity& concurvity = check.concurvity; !concurvity.labels.empty()) {
    ReportJson& to = json["concurvity"];
    to["terms"] = concurvity.labels;
    const std::size_t count = concurvity.labels.size();
    for (const auto& [name, measure] : measures) {
      for (const Concurvity::Values& one : concurvity.whole) to["whole"][name].push_back(one.*measure);
      for (std::size_t i = 0; i < count; ++i) {
        ReportJson row = ReportJson::array();
        for (std::size_t j = 0; j < count; ++j) row.push_back(concurvity.pairwise[i * count + j].*measure);
        to["pairwise"][name].push_back(std::move(row));
      }
    }
  }
  if (!check.autocorrelation.empty()) json["autocorrelation"] = check.autocorrelation;
  return json_text(json);
}

}  // namespace TESSERA_NAMESPACE::gam
