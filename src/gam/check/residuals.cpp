// SPDX-License-Identifier: Apache-2.0
#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/data/table_source.hpp"
#include "gam/fit/model_rows.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/model/model.hpp"
#include "gam/rows/prediction_pass.hpp"
#include "gam/rows/row_residuals.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/residuals.hpp>
#include <tessera/job/together.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

struct ResidualColumn {
  const char* name;
  ResidualType type;
};

constexpr ResidualColumn all_columns[]{{"fitted", ResidualType::fitted},
                                       {"linear_predictor", ResidualType::linear_predictor},
                                       {"working_weight", ResidualType::working_weight},
                                       {"deviance", ResidualType::deviance},
                                       {"pearson", ResidualType::pearson},
                                       {"response", ResidualType::response},
                                       {"working", ResidualType::working}};

/// `ResidualType::fit` selects the first columns of `all_columns`.
constexpr std::ptrdiff_t columns_of_fit = 4;

/// The columns of a type of residuals. Throws `Error(usage)` for a type that the family does not have.
std::vector<ResidualColumn> columns_of(ResidualType type, const Family& family) {
  const std::span all(all_columns);
  if (family.several() != nullptr) {
    const std::span residuals = all.subspan(columns_of_fit - 1, 3);
    if (type == ResidualType::all) return {residuals.begin(), residuals.end()};
    if (type != ResidualType::deviance && !family.several()->has_level())
      throw base::usage_error(
          "the residuals need a mean and a deviation, but the file of the family {} does not define both: "
          "add mean = \"…\" and deviation = \"…\" as expressions of the predictors, or use deviance "
          "residuals",
          family.name());
    if (std::ranges::find(residuals, type, &ResidualColumn::type) == residuals.end())
      throw base::usage_error(
          "the family {} has only residuals of the types deviance, pearson, response and all: predict the "
          "table to get other quantities",
          family.name());
  }
  switch (type) {
    case ResidualType::all: return {all.begin(), all.end()};
    case ResidualType::fit: return {all.begin(), all.begin() + columns_of_fit};
    default: return {{"residual", type}};
  }
}

/// Computes residuals in the user's units.
class ResidualsOfRows {
 public:
  explicit ResidualsOfRows(const ModelRows& rows)
      : family_(rows.model().family), rows_(rows.rows()), frame_(rows.frame()) {}

  /// The residual of local row `place`. `predictors`: the row's linear predictors, in the units of the fit.
  [[nodiscard]] double of(ResidualType type, std::span<const double> predictors, std::size_t place) const {
    if (type == ResidualType::deviance)
      return deviance_residual(rows_, place, predictors) / std::sqrt(rows_.prior_factor) /
             rows_.response_factor;
    if (const SeveralFamily* several = family_.several()) {
      const ResponseLevel level = several->level(predictors);
      const double difference = number(rows_.response, place) - level.mean;
      if (type == ResidualType::response) return difference;
      return difference * std::sqrt(prior_weight(place)) / level.deviation;
    }
    const double eta = predictors[0];
    switch (type) {
      case ResidualType::fitted: return fitted(eta);
      case ResidualType::linear_predictor: return eta / rows_.response_factor;
      case ResidualType::working_weight:
        return family_.working_weight(response_of(rows_, place), eta, prior_weight(place));
      case ResidualType::response: return difference(eta, place);
      case ResidualType::working: return working(eta, place);
      case ResidualType::pearson: return pearson(eta, place);
      default: {  // partial
        const double weighted = pearson(eta, place);
        return std::isnan(weighted) ? working(eta, place) : weighted;
      }
    }
  }

 private:
  [[nodiscard]] double number(int variable, std::size_t place) const {
    return frame_.variables[at(variable)].numbers[place];
  }
  [[nodiscard]] double prior_weight(std::size_t place) const {
    return rows_.prior_weight < 0 ? 1 : number(rows_.prior_weight, place);
  }
  [[nodiscard]] double fitted(double eta) const { return family_.fitted(eta) / rows_.response_factor; }
  [[nodiscard]] double difference(double eta, std::size_t place) const {
    return family_.response_residual(number(rows_.response, place),
                                     family_.mean(eta) / rows_.response_factor);
  }
  [[nodiscard]] double working(double eta, std::size_t place) const {
    const Response y = rows_.response_factor * response_of(rows_, place);
    return family_.working_residual(y, eta) / rows_.response_factor;
  }
  [[nodiscard]] double pearson(double eta, std::size_t place) const {
    return difference(eta, place) * std::sqrt(prior_weight(place) / family_.variance(fitted(eta)));
  }

  const Family& family_;
  const Rows& rows_;
  const Frame& frame_;
};

std::vector<Table::Column> variables_of_terms(const ModelRows& rows) {
  std::vector<std::string> names = rows.model().design.known_numbers();
  for (const auto& [factor, levels] : rows.model().design.known_levels()) names.push_back(factor);
  const std::size_t count = rows.frame().complete.size();
  std::vector<Table::Column> columns;
  for (const std::string& name : names) {
    const Variable& variable = rows.frame().at(name);
    variable.prepare_to_read(0, count);
    if (variable.factor) {
      columns.push_back(
          {name, Factor{{variable.codes.data(), variable.codes.data() + count}, variable.levels}});
      continue;
    }
    std::vector<double> numbers(count);
    for (std::size_t row = 0; row < count; ++row) numbers[row] = variable.numbers[row];
    columns.push_back({name, std::move(numbers)});
  }
  return columns;
}

}  // namespace

Predictions residuals(Job& job, const Model& model, const Table& table, const ResidualOptions& options,
                      FitObserver* observer) {
  FitObserver silent;
  const ModelRows rows(job, model.fitted(), source_of(table), options.memory,
                       observer != nullptr ? *observer : silent);
  const Frame& frame = rows.frame();
  Predictions out;
  out.plan = rows.plan();
  out.table_rows = frame.file_rows;
  std::vector<ResidualColumn> wanted;
  Posterior posterior;
  together(job.comm(), [&] {
    wanted = columns_of(options.type, rows.model().family);
    for (const ResidualColumn& one : wanted)
      out.columns.push_back(
          {one.name, std::vector<double>(frame.complete.size(), std::numeric_limits<double>::quiet_NaN())});
    posterior.coef.assign(rows.coef().begin(), rows.coef().end());
    posterior.terms = columns_by_predictor(*rows.rows().design, rows.model().family.predictor_count());
  });
  const ResidualsOfRows residuals(rows);
  predict_terms(job, rows.plan(), rows.rows(), posterior,
                [&](std::size_t first, std::span<const Prediction> predictions) {
                  std::vector<double> predictors(at(posterior.terms.count));
                  for (std::size_t i = 0; i < predictions.size(); i += predictors.size()) {
                    const std::size_t row = first + i / predictors.size();
                    if (frame.complete[row] == 0) continue;
                    std::ranges::transform(predictions.subspan(i, predictors.size()), predictors.begin(),
                                           &Prediction::fit);
                    for (std::size_t c = 0; c < wanted.size(); ++c)
                      out.columns[c].values[row] = residuals.of(wanted[c].type, predictors, row);
                  }
                });
  together(job.comm(), [&] {
    if (options.variables) out.kept = variables_of_terms(rows);
  });
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam
