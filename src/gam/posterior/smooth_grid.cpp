// SPDX-License-Identifier: Apache-2.0
#include "gam/posterior/smooth_grid.hpp"
#include "base/errors.hpp"
#include "gam/model/covariance.hpp"

#include "base/at.hpp"
#include "base/cancellation.hpp"
#include "gam/basis/basis.hpp"
#include "gam/data/require_memory.hpp"
#include "gam/formula/expression.hpp"
#include "gam/inference/distributions.hpp"
#include "gam/posterior/simultaneous.hpp"
#include "gam/predict/prediction_plan.hpp"

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <set>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

int points_of_each(int numbers, int wanted) {
  if (wanted > 0) return wanted;
  switch (numbers) {
    case 1: return 100;
    case 2: return 40;
    case 3: return 15;
    default: return 6;
  }
}

constexpr double most_points = 1e8;

void require_points(const CoefBlock& block, double points) {
  if (points > most_points)
    throw base::usage_error("the grid of {} has {:.3g} points, more than {:.0g}: take fewer points",
                            block.label, points, most_points);
}

int index_of(const Design& design, const std::string& name) {
  const auto found = std::ranges::find(design.variables, name, &DesignVariable::name);
  return static_cast<int>(found - design.variables.begin());
}

/// The column name of a variable in a table of grid points: the name of a column, without backquotes, or the
/// unchanged text of an expression such as `log(x)`.
std::string name_of(const DesignVariable& variable) {
  if (!variable.name.starts_with('`')) return variable.name;
  const Expression expression = parse_expression(variable.name);
  return expression.is_column() ? expression.columns().front() : variable.name;
}

/// A column with, for each local row, element `text` of `Piece::texts` of the row's piece.
Table::Column text_column(const std::string& name, const std::vector<Piece>& pieces, std::size_t text,
                          const std::vector<std::size_t>& piece_of_row) {
  Factor factor;
  std::vector<std::int32_t> codes;
  for (const Piece& piece : pieces) {
    const auto level = std::ranges::find(factor.levels, piece.texts[text]);
    codes.push_back(static_cast<std::int32_t>(level - factor.levels.begin()));
    if (level == factor.levels.end()) factor.levels.push_back(piece.texts[text]);
  }
  for (const std::size_t piece : piece_of_row) factor.codes.push_back(codes[piece]);
  return {name, std::move(factor)};
}

/// Adds columns fit -/+ `errors_at(row)` * se.
void add_ends(Predictions& out, const std::string& suffix, FunctionRef<double(std::size_t row)> errors_at) {
  const std::vector<double> fit = out.columns[0].values;
  const std::vector<double> se = out.columns[1].values;
  for (const int sign : {-1, 1}) {
    Predictions::Column ends{(sign < 0 ? "lower" : "upper") + suffix, {}};
    for (std::size_t i = 0; i < fit.size(); ++i) ends.values.push_back(fit[i] + sign * errors_at(i) * se[i]);
    out.columns.push_back(std::move(ends));
  }
}

}  // namespace

void add_interval(Predictions& out, double probability) {
  if (probability == 0) return;
  const double quantile = normal_quantile((1 + probability) / 2);
  add_ends(out, "", [quantile](std::size_t /*row*/) { return quantile; });
}

SmoothGrid::SmoothGrid(const FittedModel& model, const CoefBlock& block, int points)
    : block_(block), margins_(margins_of(model.design, block)), axes_(axes_of(margins_)) {
  const Design& design = model.design;
  const auto numbers = static_cast<int>(std::ranges::count_if(axes_, &SmoothAxis::is_smooth));
  const int of_each = points_of_each(numbers, points);
  require_points(block, std::pow(of_each, numbers));
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const SmoothAxis& axis = axes_[i];
    std::vector<double>& values = values_.emplace_back();
    if (axis.is_smooth()) {
      const auto [low, high] = extent_of(model, axis);
      values = sequence(low, high, of_each);
    } else if (axis.component->kind == Component::Kind::factor) {
      for (int level = 0; level < axis.component->levels; ++level) values.push_back(level);
      order_.push_back(i);
    } else {
      values = {1};
    }
    require_points(block, static_cast<double>(size_) * static_cast<double>(values.size()));
    size_ *= std::ssize(values);
  }
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].component->kind != Component::Kind::factor) order_.push_back(i);
  }
  if (design.term_of(block).components.size() == margins_.size()) return;
  const int by = index_of(design, block.variables.back());
  const auto& levels = design.variables[base::at(by)].levels;
  const auto level = std::ranges::find(levels, block.by_level) - levels.begin();
  by_.emplace_back(by, block.by_level.empty() ? 1 : static_cast<double>(level));
}

std::vector<double> SmoothGrid::at(std::int64_t point) const {
  std::vector<double> values(axes_.size());
  for (std::size_t k = order_.size(); k-- > 0;) {
    const std::vector<double>& of_axis = values_[order_[k]];
    values[order_[k]] = of_axis[base::at(point % std::ssize(of_axis))];
    point /= std::ssize(of_axis);
  }
  return values;
}

std::vector<std::pair<int, double>> SmoothGrid::described(std::int64_t point) const {
  std::vector<std::pair<int, double>> described;
  const std::vector<double> values = at(point);
  for (std::size_t i = 0; i < axes_.size(); ++i) described.emplace_back(axes_[i].variable, values[i]);
  described.insert(described.end(), by_.begin(), by_.end());
  return described;
}

std::vector<const CoefBlock*> smooths_of(const FittedModel& model, const SmoothOptions& options) {
  std::vector<const CoefBlock*> smooths;
  std::set<std::string> unknown;
  if (options.terms) unknown.insert(options.terms->begin(), options.terms->end());
  std::string known;
  for (const CoefBlock& block : model.design.blocks) {
    if (!block.is_smooth()) continue;
    known += (known.empty() ? "" : ", ") + block.label;
    if (options.terms && std::ranges::find(*options.terms, block.label) == options.terms->end()) continue;
    unknown.erase(block.label);
    if (!std::isnan(model.coef[at(block.coef_begin)])) {
      smooths.push_back(&block);
    } else if (options.terms) {
      throw base::usage_error("the smooth '{}' is minus infinity: remove the smooth from terms", block.label);
    }
  }
  if (!unknown.empty())
    throw base::usage_error("the model has no smooth '{}': it has {}", *unknown.begin(),
                            known.empty() ? "none" : known);
  return smooths;
}

Piece piece_of(const FittedModel& model, const CoefBlock& block, int points) {
  const auto grid = std::make_shared<const SmoothGrid>(model, block, points);
  const auto rows = std::make_shared<CoefBlockRows>(block, grid->margins());
  return {.texts = {block.label},
          .points = grid->size(),
          .describe = [grid](std::int64_t point) { return grid->described(point); },
          .combination = [grid, rows](std::int64_t point) { return rows->at(grid->at(point)); }};
}

void for_each_block(Job& job, Range range, std::int64_t block, FunctionRef<void(Range block)> work) {
  const bool is_done = job.host_team().for_each_block(
      range, block, [&](int /*thread*/, Range one) { work(one); }, job.options().stop);
  together(job.comm(), [&] {
    if (!is_done) throw Error(ErrorCode::interrupted, "the job was asked to stop");
  });
}

double numbers_of_rows(const std::vector<Piece>& pieces, double columns) {
  double numbers = 0;
  for (const Piece& piece : pieces) {
    // Numbers per row: the combination's weights and indices, the overhead of an array, and the variables.
    const double of_row = 2.0 * static_cast<double>(piece.combination(0).size()) + 4 +
                          static_cast<double>(piece.describe(0).size()) + columns;
    numbers += of_row * static_cast<double>(piece.points);
  }
  return numbers;
}

PieceRows rows_of(const Job& job, const Design& design, const std::vector<std::string>& text_columns,
                  const std::vector<Piece>& pieces) {
  PieceRows out;
  std::vector<std::int64_t> begins{0};
  for (const Piece& piece : pieces) begins.push_back(begins.back() + piece.points);
  out.described.plan = job.plan_for_hosts(begins.back());
  out.described.table_rows = begins.back();
  const Range mine = job.local_range(out.described.plan);
  const std::size_t count = at(mine.size());
  std::vector<std::pair<int, Table::Column>> variables;  // by index in the design, on every rank
  const auto column_of = [&](int variable) {
    return std::ranges::find_if(variables, [&](const auto& one) { return one.first == variable; });
  };
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    for (const auto& described : pieces[p].describe(0)) {
      const int variable = described.first;
      if (column_of(variable) != variables.end()) continue;
      const DesignVariable& of_design = design.variables[at(variable)];
      Table::Column column{name_of(of_design), std::vector<double>(count, no_value)};
      if (of_design.factor) column.values = Factor{std::vector<std::int32_t>(count, -1), of_design.levels};
      variables.emplace_back(variable, std::move(column));
    }
    const Range rows{std::max(mine.begin, begins[p]), std::min(mine.end, begins[p + 1])};
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      base::check_cancelled();
      const std::int64_t point = row - begins[p];
      for (const auto& [variable, value] : pieces[p].describe(point)) {
        auto& values = column_of(variable)->second.values;
        if (auto* const factor = std::get_if<Factor>(&values))
          factor->codes[at(row - mine.begin)] = static_cast<std::int32_t>(value);
        else
          std::get<std::vector<double>>(values)[at(row - mine.begin)] = value;
      }
      out.piece_of_row.push_back(p);
      out.combinations.push_back(pieces[p].combination(point));
    }
  }
  for (std::size_t t = 0; t < text_columns.size(); ++t)
    out.described.kept.push_back(text_column(text_columns[t], pieces, t, out.piece_of_row));
  for (auto& variable : variables) out.described.kept.push_back(std::move(variable.second));
  return out;
}

Predictions answer_of(Job& job, const FittedModel& model, const std::vector<std::string>& text_columns,
                      const std::vector<Piece>& pieces, const SmoothOptions& options) {
  Predictions out;
  PartedMatrix covariance;
  std::vector<std::size_t> piece_of_row;
  double numbers = options.draws;
  together(job.comm(), [&] {
    require_probability(options.interval);
    constexpr double columns = 6;
    numbers += numbers_of_rows(pieces, columns);
  });
  require_memory(job.comm(), numbers, "the points of all smooths, and draws,");
  together(job.comm(), [&] {
    covariance = covariance_of(model, options.unconditional);
    PieceRows rows = rows_of(job, model.design, text_columns, pieces);
    out = std::move(rows.described);
    piece_of_row = std::move(rows.piece_of_row);
    out.columns = {{"fit", {}}, {"se", {}}};
    for (const Combination& x : rows.combinations) {
      base::check_cancelled();
      const Estimate estimate = estimate_of(x, model.coef, covariance);
      out.columns[0].values.push_back(estimate.fit);
      out.columns[1].values.push_back(estimate.se);
    }
  });
  add_interval(out, options.interval);
  if (options.interval == 0 || options.draws == 0) return out;
  std::vector<double> critical;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    SimultaneousBand band{.probability = options.interval,
                          .draws = options.draws,
                          .seed = options.seed,
                          .stream = static_cast<std::uint32_t>(p)};
    critical.push_back(critical_value(job, covariance, pieces[p], band));
    if (std::isnan(critical.back()))
      out.remarks.push_back(
          fmt::format("no simultaneous band of {} is computed: the smooth has too many coefficients or "
                      "points, or no full covariance matrix",
                      pieces[p].texts.front()));
  }
  add_ends(out, ".simultaneous", [&](std::size_t row) { return critical[piece_of_row[row]]; });
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam
