// SPDX-License-Identifier: Apache-2.0
#include "base/at.hpp"
#include "gam/data/table_source.hpp"
#include "gam/fit/model_rows.hpp"
#include "gam/model/model.hpp"
#include "gam/rows/columns.hpp"
#include "gam/rows/row_residuals.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/residuals.hpp>
#include <tessera/job/together.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// A column of what was asked for.
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

std::vector<ResidualColumn> columns_of(ResidualType type) {
  if (type != ResidualType::all) return {{"residual", type}};
  return {std::begin(all_columns), std::end(all_columns)};
}

/// Residuals in the user's units.
class ResidualsOfRows {
 public:
  explicit ResidualsOfRows(const ModelRows& rows)
      : family_(rows.model().family), rows_(rows.rows()), frame_(rows.frame()) {}

  [[nodiscard]] double of(ResidualType type, const RowResiduals::Residual& row, std::size_t place) const {
    const double mean = family_.mean(row.linear_predictor) / rows_.response_factor;
    const double difference = number(rows_.response, place) - mean;
    switch (type) {
      case ResidualType::fitted: return mean;
      case ResidualType::linear_predictor: return row.linear_predictor / rows_.response_factor;
      case ResidualType::working_weight:
        return family_.working_weight(row.linear_predictor, prior_weight(place));
      case ResidualType::response: return difference;
      case ResidualType::working: return working(row, difference);
      case ResidualType::pearson: return pearson(mean, difference, place);
      case ResidualType::partial: {
        const double weighted = pearson(mean, difference, place);
        return std::isnan(weighted) ? working(row, difference) : weighted;
      }
      default: return row.deviance / std::sqrt(rows_.prior_factor) / rows_.response_factor;
    }
  }

 private:
  [[nodiscard]] double number(int variable, std::size_t place) const {
    return frame_.variables[at(variable)].numbers[place];
  }
  [[nodiscard]] double working(const RowResiduals::Residual& row, double difference) const {
    return difference / family_.derivative(row.linear_predictor);
  }
  [[nodiscard]] double prior_weight(std::size_t place) const {
    return rows_.prior_weight < 0 ? 1 : number(rows_.prior_weight, place);
  }
  [[nodiscard]] double pearson(double mean, double difference, std::size_t place) const {
    return difference * std::sqrt(prior_weight(place) / family_.variance(mean));
  }

  const Family& family_;
  const Rows& rows_;
  const Frame& frame_;
};

/// Copies of the design's variables, under names that a table allows, unlike expressions.
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
  together(job.comm(), [&] {
    const std::vector<ResidualColumn> wanted = columns_of(options.type);
    for (const ResidualColumn& one : wanted)
      out.columns.push_back(
          {one.name, std::vector<double>(frame.complete.size(), std::numeric_limits<double>::quiet_NaN())});
    const ResidualsOfRows residuals(rows);
    const std::vector<int> read = variables_read(rows.rows());
    std::vector<RowResiduals> readers(at(job.threads()), RowResiduals(rows.rows(), rows.raw_coef()));
    const bool whole = job.host_team().for_each_block(
        frame.rows, rows.plan().block(),
        [&](int thread, Range block) {
          const std::size_t begin = at(block.begin - frame.rows.begin);
          const std::size_t end = at(block.end - frame.rows.begin);
          for (const int variable : read) frame.variables[at(variable)].prepare_to_read(begin, end);
          for (std::size_t row = begin; row < end; ++row) {
            if (frame.complete[row] == 0) continue;
            const RowResiduals::Residual residual = readers[at(thread)].of(row);
            for (std::size_t c = 0; c < wanted.size(); ++c)
              out.columns[c].values[row] = residuals.of(wanted[c].type, residual, row);
          }
        },
        job.options().stop);
    if (!whole) throw Error(ErrorCode::interrupted, "the job was asked to stop");
    if (options.variables) out.kept = variables_of_terms(rows);
  });
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam
