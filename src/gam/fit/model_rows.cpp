// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/model_rows.hpp"

#include "base/errors.hpp"
#include "base/message.hpp"
#include "gam/data/source/shared_input.hpp"
#include "gam/fit/fit_request.hpp"
#include "gam/fit/pirls/prepare_rows.hpp"
#include "gam/fit/run/block_sums.hpp"
#include "gam/rows/response_fingerprint.hpp"
#include "gam/rows/row_residuals.hpp"

#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// *Collective.* The model without its covariance, with the coefficients of rank 0 on every rank.
FittedModel shared_model(const mpi::Communicator& comm, FittedModel model) {
  require_same_content(comm, model.path, model.checksum);
  model.covariance = PartedMatrix();
  base::broadcast_values(comm, 0, model.coef, model.centring.values);
  return model;
}

FitOptions options_of(const FittedModel& model, const MemoryOptions& memory) {
  FitOptions options;
  options.family = ResponseFamily(std::make_shared<const Family>(model.family));
  options.weights = model.weights;
  options.offset = model.offset;
  options.subset = model.subset;
  options.rho = model.rho;
  options.ar_start = model.ar_start;
  options.memory = memory;
  return options;
}

[[noreturn]] void refuse_other(const TableSource& source, const std::string& what) {
  throw base::input_error("{}: {}: give the table that the model was fitted to", source.name, what);
}

}  // namespace

ModelRows::ModelRows(Job& job, const FittedModel& model, const TableSource& source,
                     const MemoryOptions& memory, FitObserver& observer, const std::string& column)
    : model_(shared_model(job.comm(), model)),
      options_(options_of(model_, memory)),
      formula_(with_options(parse_terms(model_.formula), options_)) {
  const Workers workers{job.comm(), job.host_team()};
  read(job, source, observer, column);
  rows_ = prepare_rows(workers, frame_, formula_, options_);
  rows_.family = model_.family;
  const std::string fingerprint = response_fingerprint(workers, rows_);
  together(job.comm(), [&] {
    PredictiveModel predictive = model_.predictive();
    design_ = reindexed(std::move(predictive.design), frame_);
    coef_ = std::move(predictive.coef);
    for (double& coef : coef_) coef *= rows_.response_factor;
    raw_coef_ = design_.raw_coefficients(coef_);
  });
  rows_.design = &design_;
  if (model_.response_fingerprint.empty() || fingerprint == model_.response_fingerprint) return;
  const bool has_other_response = model_.rho != 0 || !has_deviance_of_fit(job, observer);
  together(job.comm(), [&] {
    if (has_other_response)
      refuse_other(source, "the values or rows of the response differ from the response of the fit");
  });
}

bool ModelRows::has_deviance_of_fit(Job& job, FitObserver& observer) const {
  std::vector<PhaseTime> phases;
  const double deviance = sums_over_blocks<RowResiduals>(
      FitContext{job, plan_, formula_, options_, observer, phases}, rows_, 1,
      [&](RowResiduals& residuals, std::size_t begin, std::size_t end, std::span<double> sum) {
        for (std::size_t row = begin; row < end; ++row) {
          if (frame_.complete[row] == 0) continue;
          const double residual = residuals.of(row).deviance;
          sum[0] += residual * residual;
        }
      },
      rows_, raw_coef_)[0];
  return job.comm().rank() > 0 ||
         std::abs(deviance * deviance_unit(rows_) - model_.deviance) <= 1e-9 * model_.deviance;
}

void ModelRows::read(Job& job, const TableSource& source, FitObserver& observer, const std::string& column) {
  const Workers workers{job.comm(), job.host_team()};
  const mpi::Purpose purpose(job.comm(), "the reading of the table");
  observer.now("counting the rows of " + source.name);
  const auto table = open_source(workers, source, job.options().stop,
                                 {.tell = [&](std::string_view line) { observer.note(line); },
                                  .node_bytes = options_.memory.node_bytes});
  FrameRequest request = request_of_fit(formula_, options_, source.options);
  request.known_levels = model_.design.known_levels();
  request.units = model_.units;
  for (const std::string& number : model_.design.known_numbers()) request.numeric.push_back(number);
  const auto& contrasts = model_.recipe.contrasts;
  request.variables.insert(request.variables.end(), contrasts.begin(), contrasts.end());
  if (!model_.recipe.empty() || std::ranges::any_of(request.variables, &Expression::computed))
    request.recipe = &model_.recipe;
  if (!column.empty()) request.variables.push_back(column_expression(column));
  plan_ = job.plan_for_hosts(table->rows(), source.options.block_rows);
  observer.note(fmt::format("reading {} rows of {}, once", table->rows(), source.name));
  frame_ = read_variables(*table, workers, request, job.local_range(plan_));
  if (frame_.spilled.bytes > 0) observer.note(to_string(frame_.spilled));
  together(job.comm(), [&] {
    if (frame_.complete_rows != model_.rows)
      refuse_other(source, fmt::format("the table has {} complete rows, but the fit used {}",
                                       frame_.complete_rows, model_.rows));
  });
}

}  // namespace TESSERA_NAMESPACE::gam
