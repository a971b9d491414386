// SPDX-License-Identifier: Apache-2.0
#include "base/at.hpp"
#include "base/cancellation.hpp"
#include "base/errors.hpp"
#include "base/philox.hpp"
#include "gam/data/require_memory.hpp"
#include "gam/family/response_distribution.hpp"
#include "gam/inference/normal_draws.hpp"
#include "gam/model/covariance.hpp"
#include "gam/posterior/smooth_grid.hpp"
#include "gam/predict/prediction_plan.hpp"

#include <tessera/gam/posterior.hpp>
#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// *Collective.* Throws `Error(input)` if `numbers` per draw do not fit into memory.
void require_memory_of_draws(const Job& job, const SimulateOptions& options, double numbers,
                             std::string_view of_what) {
  require_memory(job.comm(), options.draws * numbers, fmt::format("{} draws of {}", options.draws, of_what));
}

void check_options(const SimulateOptions& options) {
  if (options.draws < 1) throw base::usage_error("simulate: draws is {}: give 1 or more", options.draws);
}

Matrix root_of_posterior(const FittedModel& model, const SimulateOptions& options) {
  require_whole_covariance(model, "draws of the coefficients");
  return root_of(covariance_of(model, options.unconditional).core);
}

std::vector<Predictions::Column> columns_of_draws(int draws, const std::vector<double>& values) {
  std::vector<Predictions::Column> columns;
  for (int draw = 1; draw <= draws; ++draw) {
    base::check_cancelled();
    columns.push_back({"draw." + std::to_string(draw), values});
  }
  return columns;
}

/// Returns the prior weights of a part of the rows, and removes their column unless the caller keeps it.
std::vector<double> take_weights(Predictions& part, const SimulateOptions& options, bool trials) {
  if (options.weights.empty()) return {};
  const auto column = std::ranges::find(part.kept, options.weights, &Table::Column::name);
  const auto* const numbers = std::get_if<std::vector<double>>(&column->values);
  const auto is_weight = [&](double one) {
    return std::isnan(one) || (trials ? one >= 1 && one == std::floor(one) : one > 0);
  };
  if (numbers == nullptr || !std::ranges::all_of(*numbers, is_weight))
    throw base::input_error("the weights '{}' must all be {}: correct the weights", options.weights,
                            trials ? "whole numbers of trials" : "numbers above 0");
  std::vector<double> weights = *numbers;
  if (std::ranges::find(options.keep, options.weights) == options.keep.end()) part.kept.erase(column);
  return weights;
}

}  // namespace

std::vector<std::string> simulate_responses(Job& job, const Model& model, const Table& table,
                                            FunctionRef<void(const Predictions&)> take,
                                            const SimulateOptions& options, FitObserver* observer) {
  // Numbers per part, over all ranks: draws take some tens of megabytes for any number of rows.
  constexpr std::int64_t numbers_of_part = 1 << 22;
  constexpr std::int64_t rows_of_block = 1 << 10;
  const FittedModel& fitted = model.fitted();
  const SeveralFamily* const several = fitted.family.several();
  std::optional<ResponseDistribution> response;
  PredictOptions of_means;
  together(job.comm(), [&] {
    check_options(options);
    if (several != nullptr && (options.posterior_predictive || !options.weights.empty()))
      throw base::usage_error(
          "responses of the family {} are simulated only at the estimates and without weights: remove {}",
          several->name, options.posterior_predictive ? "posterior-predictive" : "weights");
    if (several == nullptr) response.emplace(fitted.family, fitted.scale);
    // Ordered classes and ziP are drawn at the linear predictor.
    of_means.type = fitted.family.has_outputs() ? PredictionType::link : PredictionType::response;
    of_means.new_levels = options.new_levels;
    if (options.posterior_predictive) {
      of_means.draws = options.draws;
      of_means.seed = options.seed;
      of_means.unconditional = options.unconditional;
    }
    of_means.keep = options.keep;
    const bool kept = std::ranges::find(options.keep, options.weights) != options.keep.end();
    if (!options.weights.empty() && !kept) of_means.keep.push_back(options.weights);
    of_means.rows_at_once = std::max<std::int64_t>(numbers_of_part / options.draws, 1 << 12);
  });
  return predict_in_parts(
      job, model, table,
      [&](const Predictions& means) {
        const double copies = options.posterior_predictive ? 1 : 2;
        require_memory_of_draws(job, options, copies * static_cast<double>(means.plan.units()),
                                fmt::format("{} responses", means.plan.units()));
        Predictions part = means;
        std::vector<double> weights;
        together(job.comm(), [&] {
          weights = take_weights(part, options, fitted.family.two_levels());
          if (!options.posterior_predictive)
            part.columns = columns_of_draws(options.draws, part.columns.front().values);
        });
        const Range mine = job.local_range(part.plan);
        const std::int64_t first = part.first_row + mine.begin;
        for_each_block(job, {0, mine.size()}, rows_of_block, [&](Range rows) {
          for (int draw = 0; draw < options.draws; ++draw) {
            for (std::int64_t i = rows.begin; i < rows.end; ++i) {
              base::RandomPlace random(options.seed, static_cast<std::uint64_t>(first + i),
                                       static_cast<std::uint64_t>(draw));
              double& value = part.columns[at(draw)].values[at(i)];
              if (several != nullptr) {
                std::vector<double> eta;
                for (const Predictions::Column& predictor : means.columns)
                  eta.push_back(predictor.values[at(i)]);
                if (!std::isnan(value)) value = several->draw(eta, random);
                continue;
              }
              value = response->draw(value, weights.empty() ? 1 : weights[at(i)], random);
            }
          }
        });
        take(part);
      },
      of_means, observer);
}

Predictions simulate_coefficients(Job& job, const Model& model, const SimulateOptions& options) {
  const FittedModel& fitted = model.fitted();
  Predictions out;
  Matrix root;
  together(job.comm(), [&] { check_options(options); });
  require_memory_of_draws(job, options, static_cast<double>(fitted.coef.size()),
                          fmt::format("{} coefficients", fitted.coef.size()));
  together(job.comm(), [&] {
    root = root_of_posterior(fitted, options);
    out.plan = job.plan_for_hosts(options.draws);
    out.table_rows = options.draws;
    for (std::string& name : fitted.design.coef_names()) {
      base::check_cancelled();
      out.columns.push_back({std::move(name), std::vector<double>(at(job.local_range(out.plan).size()))});
    }
  });
  const Range mine = job.local_range(out.plan);
  for_each_block(job, mine, 1, [&](Range draws) {
    std::vector<double> deviation(fitted.coef.size());
    for (std::int64_t draw = draws.begin; draw < draws.end; ++draw) {
      draw_normal(root, options.seed, stream_of_coefficients, static_cast<std::uint64_t>(draw), deviation);
      for (std::size_t j = 0; j < deviation.size(); ++j)
        out.columns[j].values[at(draw - mine.begin)] = fitted.coef[j] + deviation[j];
    }
  });
  return out;
}

Predictions simulate_smooths(Job& job, const Model& model, const SimulateOptions& options,
                             const SmoothOptions& smooths) {
  const FittedModel& fitted = model.fitted();
  PieceRows rows;
  Matrix root;
  std::vector<Piece> pieces;
  double numbers = 0;
  together(job.comm(), [&] {
    check_options(options);
    for (const CoefBlock* block : smooths_of(fitted, smooths))
      pieces.push_back(piece_of(fitted, *block, smooths.points));
    numbers = numbers_of_rows(pieces, options.draws);
  });
  require_memory(job.comm(), numbers, fmt::format("{} draws of smooths", options.draws));
  together(job.comm(), [&] {
    root = root_of_posterior(fitted, options);
    rows = rows_of(job, fitted.design, {"smooth"}, pieces);
    rows.described.columns = columns_of_draws(options.draws, std::vector<double>(rows.combinations.size()));
  });
  for_each_block(job, {0, options.draws}, 1, [&](Range draws) {
    std::vector<double> coef(fitted.coef.size());
    for (std::int64_t draw = draws.begin; draw < draws.end; ++draw) {
      draw_normal(root, options.seed, stream_of_coefficients, static_cast<std::uint64_t>(draw), coef);
      for (std::size_t j = 0; j < coef.size(); ++j) coef[j] += fitted.coef[j];
      std::vector<double>& values = rows.described.columns[at(draw)].values;
      for (std::size_t i = 0; i < values.size(); ++i) {
        for (const Weight& one : rows.combinations[i]) values[i] += one.value * coef[at(one.coefficient)];
      }
    }
  });
  return std::move(rows.described);
}

}  // namespace TESSERA_NAMESPACE::gam
