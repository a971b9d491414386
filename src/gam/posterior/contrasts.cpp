// SPDX-License-Identifier: Apache-2.0
#include "base/at.hpp"
#include "base/cancellation.hpp"
#include "base/errors.hpp"
#include "gam/data/row_pieces.hpp"
#include "gam/data/table_source.hpp"
#include "gam/model/covariance.hpp"
#include "gam/posterior/smooth_grid.hpp"
#include "gam/predict/prediction_plan.hpp"

#include <tessera/gam/posterior.hpp>
#include <tessera/job/together.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

constexpr double most_differences = 2e6;

/// A smooth at each level of a factor. A point has the same index at every level.
struct SmoothOfLevels {
  std::string label;  ///< without the level
  int factor = 0;     ///< index among the design's variables
  std::int64_t points = 0;
  std::function<std::vector<std::pair<int, double>>(std::int64_t)> describe;
  std::function<Combination(int level, std::int64_t point)> row;
};

/// Combines the blocks of s(x, by = factor), one for each level.
SmoothOfLevels by_levels(const FittedModel& model, const std::vector<const CoefBlock*>& blocks, int points) {
  const CoefBlock& first = *blocks.front();
  const auto& variables = model.design.variables;
  SmoothOfLevels out;
  out.label = first.label.substr(0, first.label.size() - first.by_level.size());
  const auto factor = std::ranges::find(variables, first.variables.back(), &DesignVariable::name);
  out.factor = static_cast<int>(factor - variables.begin());
  const auto grid = std::make_shared<const SmoothGrid>(model, first, points);
  out.points = grid->size();
  out.describe = [grid, by = out.factor](std::int64_t point) {
    auto described = grid->described(point);
    std::erase_if(described, [&](const auto& one) { return one.first == by; });
    return described;
  };
  std::vector<std::shared_ptr<CoefBlockRows>> of_levels(factor->levels.size());
  for (const CoefBlock* block : blocks) {
    const auto level = std::ranges::find(factor->levels, block->by_level) - factor->levels.begin();
    of_levels[at(level)] = std::make_shared<CoefBlockRows>(*block, margins_of(model.design, *block));
  }
  out.row = [grid, of_levels](int level, std::int64_t point) {
    return of_levels[at(level)] ? of_levels[at(level)]->at(grid->at(point)) : Combination();
  };
  return out;
}

/// A smooth with a factor margin, for each combination of the levels of its other factors.
SmoothOfLevels within(const FittedModel& model, const CoefBlock& block, std::size_t axis, int points) {
  SmoothOfLevels out;
  out.label = block.label;
  const auto grid = std::make_shared<const SmoothGrid>(model, block, points);
  const SmoothAxis factor = grid->axes()[axis];
  out.factor = factor.variable;
  auto places = std::make_shared<std::vector<std::int64_t>>();
  for (std::int64_t point = 0; point < grid->size(); ++point) {
    base::check_cancelled();
    if (grid->at(point)[axis] == 0) places->push_back(point);
  }
  out.points = std::ssize(*places);
  out.describe = [grid, places, by = out.factor](std::int64_t point) {
    auto described = grid->described((*places)[at(point)]);
    std::erase_if(described, [&](const auto& one) { return one.first == by; });
    return described;
  };
  const auto rows = std::make_shared<CoefBlockRows>(block, grid->margins());
  out.row = [grid, rows, places, axis](int level, std::int64_t point) {
    std::vector<double> values = grid->at((*places)[at(point)]);
    values[axis] = level;
    return rows->at(values);
  };
  return out;
}

/// The smooths that differ between levels of a factor. A smooth by a factor may be requested without level.
std::vector<SmoothOfLevels> smooths_of_levels(const FittedModel& model, const SmoothOptions& options) {
  std::vector<SmoothOfLevels> all;
  std::vector<std::pair<std::string, std::vector<const CoefBlock*>>> by;
  for (const CoefBlock& block : model.design.blocks) {
    if (!block.is_smooth()) continue;
    if (!block.by_level.empty()) {
      const std::string label = block.label.substr(0, block.label.size() - block.by_level.size());
      const auto known = std::ranges::find_if(by, [&](const auto& one) { return one.first == label; });
      if (known == by.end())
        by.push_back({label, {&block}});
      else
        known->second.push_back(&block);
      continue;
    }
    const auto axes = axes_of(margins_of(model.design, block));
    if (std::ranges::none_of(axes, &SmoothAxis::is_smooth)) continue;
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      if (axes[axis].component->kind == Component::Kind::factor)
        all.push_back(within(model, block, axis, options.points));
    }
  }
  for (const auto& [label, blocks] : by) all.push_back(by_levels(model, blocks, options.points));
  std::string known;
  for (const SmoothOfLevels& one : all) known += (known.empty() ? "" : ", ") + one.label;
  if (!options.terms) {
    if (all.empty())
      throw base::usage_error("the model has no smooth by levels of a factor: give two tables to compare");
    return all;
  }
  for (const std::string& name : *options.terms) {
    if (std::ranges::find(all, name, &SmoothOfLevels::label) == all.end())
      throw base::usage_error(
          "the model has no smooth '{}' by levels of a factor: the smooths by levels are {}", name,
          known.empty() ? "none" : known);
  }
  std::erase_if(all, [&](const SmoothOfLevels& one) {
    return std::ranges::find(*options.terms, one.label) == options.terms->end();
  });
  return all;
}

Predictions matrix_of(Job& job, const Model& model, const Table& table, const PredictOptions& options) {
  PredictOptions own;
  own.type = PredictionType::lpmatrix;
  own.terms = options.terms;
  own.exclude = options.exclude;
  own.new_levels = options.new_levels;
  return predict(job, model, table, own);
}

/// *Collective.* Moves each row to the rank that has it in `plan`.
void divide(const mpi::Communicator& comm, const Plan& plan, Predictions& rows) {
  if (rows.plan.fingerprint() == plan.fingerprint()) return;
  const std::vector<std::size_t> counts = rows_of_ranks(plan, rows.plan.range_of(comm.rank()));
  for (Predictions::Column& column : rows.columns)
    column.values = comm.alltoallv(std::span<const double>(column.values), counts);
  rows.plan = plan;
}

}  // namespace

Predictions table_differences(Job& job, const Model& model, const Table& minuend, const Table& subtrahend,
                              const PredictOptions& options) {
  if (model.fitted().family.several() != nullptr)
    throw base::usage_error(
        "differences between tables are not available for the family {}, which has several linear "
        "predictors: predict the two tables",
        model.fitted().family.name());
  const FittedModel& fitted = model.fitted();
  together(job.comm(), [&] {
    // On devices, a row's prediction and its row of the model matrix may be on different ranks.
    if (!job.on_host())
      throw base::usage_error(
          "table_differences runs only on the CPU, but the job uses devices: create the job with "
          "Policy::cpu");
  });
  PredictOptions link = options;
  link.type = PredictionType::link;
  link.standard_errors = false;
  link.interval = 0;
  link.unconditional = false;
  Predictions out = predict(job, model, minuend, link);
  link.keep.clear();
  Predictions less = predict(job, model, subtrahend, link);
  together(job.comm(), [&] {
    if (out.table_rows != less.table_rows)
      throw base::input_error("{} has {} rows, but {} has {}: give two tables with the same number of rows",
                              source_of(minuend).name, out.table_rows, source_of(subtrahend).name,
                              less.table_rows);
  });
  Predictions rows = matrix_of(job, model, minuend, options);
  Predictions less_rows = matrix_of(job, model, subtrahend, options);
  // A table in memory has its own plan: move all rows to the ranks of the first result's plan.
  for (Predictions* of_out : {&less, &rows, &less_rows}) divide(job.comm(), out.plan, *of_out);
  together(job.comm(), [&] {
    require_probability(options.interval);
    const PartedMatrix covariance = covariance_of(fitted, options.unconditional);
    const std::size_t count = out.columns[0].values.size();
    Predictions::Column se{"se", {}};
    for (std::size_t i = 0; i < count; ++i) {
      base::check_cancelled();
      Combination x;
      for (std::size_t c = 0; c < rows.columns.size(); ++c) {
        const double value = rows.columns[c].values[i] - less_rows.columns[c].values[i];
        if (value != 0) x.push_back({static_cast<int>(c), value});
      }
      se.values.push_back(estimate_of(x, fitted.coef, covariance).se);
      out.columns[0].values[i] -= less.columns[0].values[i];
    }
    out.columns.push_back(std::move(se));
    add_interval(out, options.interval);
  });
  out.remarks.insert(out.remarks.end(), less.remarks.begin(), less.remarks.end());
  return out;
}

Predictions level_differences(Job& job, const Model& model, const SmoothOptions& options) {
  const FittedModel& fitted = model.fitted();
  std::vector<Piece> pieces;
  together(job.comm(), [&] {
    for (const SmoothOfLevels& smooth : smooths_of_levels(fitted, options)) {
      const std::vector<std::string>& levels = fitted.design.variables[at(smooth.factor)].levels;
      const double pairs = 0.5 * static_cast<double>(levels.size()) * static_cast<double>(levels.size() - 1);
      if (pairs * static_cast<double>(smooth.points) > most_differences)
        throw base::usage_error(
            "{} has {} levels and therefore {:.0f} differences at {} points: use fewer points, or compare "
            "two tables",
            smooth.label, levels.size(), pairs, smooth.points);
      for (int a = 0; a < std::ssize(levels); ++a) {
        base::check_cancelled();
        for (int b = a + 1; b < std::ssize(levels); ++b) {
          pieces.push_back({.texts = {smooth.label, levels[at(a)], levels[at(b)]},
                            .points = smooth.points,
                            .describe = smooth.describe,
                            .combination = [row = smooth.row, a, b](std::int64_t point) {
                              return sum_of(row(a, point), -1, row(b, point));
                            }});
        }
      }
    }
  });
  return answer_of(job, fitted, {"smooth", "level", "less"}, pieces, options);
}

}  // namespace TESSERA_NAMESPACE::gam
