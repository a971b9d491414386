// SPDX-License-Identifier: Apache-2.0
#include "gam/basis/bases.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/model/model.hpp"
#include "gam/rows/row_pass.hpp"
#include "gam/table/shared_input.hpp"
#include "gam/table/table_source.hpp"

#include "base/at.hpp"

#include <tessera/gam/predict.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <tessera/error.hpp>
#include <tessera/job/together.hpp>
#include <vector>

#include "base/counted.hpp"

namespace tessera::gam {
namespace {

using base::at;

struct Prediction {
  double fit = std::numeric_limits<double>::quiet_NaN();
  double se = std::numeric_limits<double>::quiet_NaN();
};

/// Rows whose standard errors are found in one matrix product.
constexpr std::int64_t rows_per_product = 256;

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

/// A factor L of the covariance, L L' = V, so that the variance of x'b is |L'x|^2 and never negative.
Matrix covariance_root(const Matrix& covariance) {
  if (auto lower = cholesky(covariance)) return std::move(*lower);
  // A term whose smoothing parameter ran to infinity leaves directions without variance. The eigenvalues are
  // those of the correlations: a coefficient of a large number has a small variance, and its digits count.
  const std::vector<double> scale = diagonal_roots(covariance);
  Matrix correlations = covariance;
  unscale(correlations, scale);
  SymmetricEigen eigen = symmetric_eigen(correlations);
  for (int j = 0; j < covariance.cols(); ++j) {
    const double length = std::sqrt(std::max(0.0, eigen.values[at(j)]));
    for (int i = 0; i < covariance.rows(); ++i) eigen.vectors(i, j) *= length * scale[at(i)];
  }
  return eigen.vectors;
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

class Predictor {
 public:
  Predictor(const FittedModel& model, const PredictiveModel& predictive, const Design& design,
            const Frame& frame, std::span<const int> offsets, const PredictOptions& options)
      : model_(model), design_(design), frame_(frame), offsets_(offsets), options_(options) {
    raw_coef_ = design.raw_coefficients(predictive.coef);
    if (options.standard_errors) root_ = covariance_root(predictive.covariance);
  }

  /// Local rows [begin, end).
  void predict(std::int64_t begin, std::int64_t end, std::span<Prediction> out) const {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto row = at(i);
      Prediction& prediction = out[at(i - begin)];
      if (frame_.complete[row] == 0) continue;
      prediction.fit = linear_predictor(frame_, design_, row, raw_coef_);
      for (const int offset : offsets_) {
        prediction.fit += frame_.variables[at(offset)].numbers[row];
      }
    }
    if (options_.standard_errors) {
      for (std::int64_t i = begin; i < end;) {
        const std::int64_t first = (frame_.rows.begin + i) % rows_per_product;
        const std::int64_t stop = std::min(end, i + rows_per_product - first);
        standard_errors(i, stop, static_cast<int>(first), out.subspan(at(i - begin)));
        i = stop;
      }
    }
    if (options_.response) {
      for (Prediction& prediction : out) {
        prediction.se *= std::abs(model_.family.derivative(prediction.fit));
        if (!std::isnan(prediction.fit)) prediction.fit = model_.family.mean(prediction.fit);
      }
    }
  }

 private:
  /// Of rows that are columns `first` and following of one product. A product has all its columns and each
  /// row of the table a column of its own in it, whoever predicts the others: BLAS rounds a column by where
  /// it lies.
  void standard_errors(std::int64_t begin, std::int64_t end, int first, std::span<Prediction> out) const {
    Matrix rows(design_.coef_size, static_cast<int>(rows_per_product));
    for (std::int64_t i = begin; i < end; ++i) {
      const auto row = at(i);
      if (frame_.complete[row] != 0) {
        coefficient_row(frame_, design_, row, rows.column(first + static_cast<int>(i - begin)));
      }
    }
    const Matrix projected = multiply_tn(root_, rows);
    for (std::int64_t i = begin; i < end; ++i) {
      if (frame_.complete[at(i)] == 0) continue;
      const auto column = projected.column(first + static_cast<int>(i - begin));
      out[at(i - begin)].se = std::sqrt(dot(column, column));
    }
  }

  const FittedModel& model_;
  const Design& design_;
  const Frame& frame_;
  std::span<const int> offsets_;
  const PredictOptions& options_;
  std::vector<double> raw_coef_;
  Matrix root_;
};

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
    if (predictive.covariance.empty()) predictive.covariance = Matrix(size, size);
    comm.broadcast(predictive.covariance.values(), 0);
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
    const auto table = open_source(comm, source, job.options().stop);
    out.plan = source.plan ? *source.plan : job.plan_for_hosts(table->rows());
    return table->read(comm, request, job.local_range(out.plan));
  }();
  out.remarks = remarks_on_unseen(frame, request.unseen_is_complete);

  const PredictiveModel predictive = predictive_of(comm, model, options.standard_errors);
  Design design;
  std::vector<int> offsets;
  together(comm, [&] {
    design = reindexed(predictive.design, frame);
    for (const Expression& offset : formula.offsets) offsets.push_back(frame.index_of(offset.text));
  });

  progress.now("predicting");
  const Predictor predictor(model, predictive, design, frame, offsets, options);
  const std::int64_t first = frame.rows.begin;
  const auto predict_rows = [&](Range rows, std::span<Prediction> into) {
    predictor.predict(rows.begin - first, rows.end - first, into);
  };
  using Complete = std::span<const std::uint8_t>;
  // A device's rows, of a table in memory that lies by a plan for devices, are its host thread's.
  const auto predictions = job.map<Prediction>(
      out.plan, Complete(frame.complete),
      [&](Tile& tile, Complete, std::span<Prediction> into) { predict_rows(tile.range(), into); },
      [&](const HostTile& tile, Complete, std::span<Prediction> into) { predict_rows(tile.range, into); });
  for (const Prediction& prediction : predictions) {
    out.fit.push_back(prediction.fit);
    if (options.standard_errors) out.standard_errors.push_back(prediction.se);
  }
  return out;
}

}  // namespace

Predictions predict(Job& job, const Model& model, const Table& table, const PredictOptions& options,
                    FitObserver* observer) {
  return predict_from(job, model.fitted(), source_of(table), options, observer);
}

Predictions predict(Job& job, const Model& model, const TableFile& file, const PredictOptions& options,
                    FitObserver* observer) {
  return predict_from(job, model.fitted(), source_of(file), options, observer);
}

}  // namespace tessera::gam
