// SPDX-License-Identifier: Apache-2.0
#include "gam/basis/bases.hpp"
#include "gam/model/model.hpp"
#include "gam/rows/prediction_pass.hpp"
#include "gam/table/shared_input.hpp"
#include "gam/table/table_source.hpp"

#include <tessera/gam/predict.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <tessera/error.hpp>
#include <tessera/job/together.hpp>
#include <utility>
#include <vector>

#include "base/counted.hpp"
#include "base/huge_pages.hpp"

namespace tessera::gam {
namespace {

/// The variables of the model's right-hand side, which is what a prediction reads.
std::vector<Expression> predictors(const FormulaTerms& formula) {
  std::vector<Expression> variables = formula.variables();
  const auto on_the_right = [&](const Expression& variable) {
    const auto is = [&](const Expression& other) { return other.text == variable.text; };
    for (const auto& term : formula.parametric) {
      if (std::any_of(term.variables.begin(), term.variables.end(), is)) return true;
    }
    for (const auto& smooth : formula.smooths) {
      if (smooth.by && is(*smooth.by)) return true;
      for (const auto& margin : smooth.margins) {
        if (is(margin.variable)) return true;
      }
    }
    return std::any_of(formula.offsets.begin(), formula.offsets.end(), is);
  };
  std::erase_if(variables, [&](const Expression& variable) { return !on_the_right(variable); });
  return variables;
}

/// Factors, by their names, that only random effects use.
std::vector<std::string> factors_of_random_effects(const Design& design) {
  std::vector<std::string> random;
  for (const auto& known : design.known_levels()) {
    const std::string& name = known.first;
    const bool elsewhere =
        std::any_of(design.blocks.begin(), design.blocks.end(), [&](const CoefBlock& block) {
          const auto used = std::find(block.variables.begin(), block.variables.end(), name);
          // The last variable is that of `by`, and a smooth by a factor is one of another kind for each
          // level.
          const bool by = !block.by_level.empty() && block.variables.back() == name;
          return used != block.variables.end() && (!is_random_effect(block.kind) || by);
        });
    if (!elsewhere) random.push_back(name);
  }
  return random;
}

/// What became of the rows whose levels the fit had not.
std::vector<std::string> remarks_on_unseen(const Frame& frame, std::span<const std::string> random) {
  std::vector<std::string> remarks;
  for (const ColumnReading& column : frame.columns) {
    if (column.unseen == 0) continue;
    std::string levels;
    for (const std::string& level : column.unseen_levels)
      levels += fmt::format("{}'{}'", levels.empty() ? "" : ", ", level);
    const bool effect =
        std::find(random.begin(), random.end(), column_expression(column.name).text) != random.end();
    remarks.push_back(
        fmt::format("{} {} of '{}' that the fit had not ({}{}): {}", base::counted(column.unseen, "row"),
                    column.unseen == 1 ? "has a level" : "have levels", column.name, levels,
                    column.more_unseen ? ", ..." : "",
                    effect ? "predicted without that random effect" : "their predictions are NA"));
  }
  return remarks;
}

/// What a prediction reads of a table.
FrameRequest request_for(const FormulaTerms& formula, const Design& design, const TableOptions& options) {
  FrameRequest request;
  request.variables = predictors(formula);
  request.known_levels = design.known_levels();
  request.unseen_is_complete = factors_of_random_effects(design);
  request.numeric = design.known_numbers();
  request.options = options;
  for (const Expression& offset : formula.offsets) request.numeric.push_back(offset.text);
  return request;
}

/// *Collective.* The coefficients and their covariance, which rank 0 alone has after a fit, on every rank.
PredictiveModel predictive_of(const mpi::Communicator& comm, const FittedModel& model, bool with_covariance) {
  PredictiveModel predictive = model.predictive();
  comm.broadcast(std::span<double>(predictive.coef), 0);
  if (with_covariance) {
    const auto size = static_cast<int>(predictive.coef.size());
    if (predictive.covariance.empty())
      predictive.covariance = PartedMatrix(size, predictive.design.parted_coefficients());
    predictive.covariance.for_each_array([&](std::span<double> values) {
      if (!values.empty()) comm.broadcast(values, 0);
    });
  } else {
    predictive.covariance = PartedMatrix();
  }
  return predictive;
}

Predictions predict_from(Job& job, const FittedModel& model, const TableSource& source,
                         const PredictOptions& options, FitObserver* observer) {
  const mpi::Communicator& comm = job.comm();
  FitObserver silent;
  FitObserver& progress = observer != nullptr ? *observer : silent;
  require_same_content(comm, model.path, model.checksum);

  const FormulaTerms formula = parse_terms(model.formula);
  const FrameRequest request = request_for(formula, model.design, source.options);
  progress.now("reading " + source.name);
  Predictions out;
  const Frame frame = [&] {
    const mpi::Purpose purpose(comm, "the reading of the table");
    const Workers workers{comm, job.host_team()};
    const auto table = open_source(workers, source, job.options().stop);
    out.plan = source.plan ? *source.plan : job.plan(table->rows());
    return table->read(workers, request, job.local_range(out.plan));
  }();
  out.remarks = remarks_on_unseen(frame, request.unseen_is_complete);

  PredictiveModel predictive = predictive_of(comm, model, options.standard_errors);
  Design design;
  Rows rows{.frame = &frame, .design = &design, .family = model.family, .response = -1};
  together(comm, [&] {
    design = reindexed(predictive.design, frame);
    for (const Expression& offset : formula.offsets) rows.offsets.push_back(frame.index_of(offset.text));
  });

  progress.now("predicting");
  const Posterior posterior{.coef = std::move(predictive.coef),
                            .covariance = std::move(predictive.covariance),
                            .response = options.response};
  const std::vector<Prediction> predictions = predict_rows(job, out.plan, rows, posterior);
  std::vector<double>* const columns[] = {&out.fit, &out.standard_errors};
  job.host_team().for_each_block({0, options.standard_errors ? 2 : 1}, 1, [&](int /*thread*/, Range one) {
    base::resize_in_huge_pages(*columns[one.begin], predictions.size());
  });
  constexpr std::int64_t rows_of_run = 1 << 16;
  job.host_team().for_each_block({0, std::ssize(predictions)}, rows_of_run, [&](int /*thread*/, Range run) {
    for (auto i = static_cast<std::size_t>(run.begin); i < static_cast<std::size_t>(run.end); ++i) {
      out.fit[i] = predictions[i].fit;
      if (options.standard_errors) out.standard_errors[i] = predictions[i].se;
    }
  });
  return out;
}

}  // namespace

Predictions predict(Job& job, const Model& model, const Table& table, const PredictOptions& options,
                    FitObserver* observer) {
  return predict_from(job, model.fitted(), source_of(table), options, observer);
}

Predictions predict(Job& job, const Model& model, const TableFile& file, const PredictOptions& options,
                    FitObserver* observer) {
  for (;;) {
    try {
      return predict_from(job, model.fitted(), source_of(file), options, observer);
    } catch (const Error& error) {
      // A rank has lost its last device: the table is read anew over those that are left.
      if (error.code() != ErrorCode::outdated_plan) throw;
    }
  }
}

}  // namespace tessera::gam
