// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/predict.hpp"

#include "files/output_file.hpp"
#include "gam/basis/bases.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/rows/row_pass.hpp"
#include "gam/table/table_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <tessera/error.hpp>
#include <tessera/job/together.hpp>
#include <vector>

#include "base/counted.hpp"
#include "files/standard_error.hpp"
#include "files/standard_output.hpp"

namespace tessera::gam {
namespace {

struct Prediction {
  double fit = std::numeric_limits<double>::quiet_NaN();
  double se = std::numeric_limits<double>::quiet_NaN();
};

/// Rows whose text travels to rank 0 at once: some megabytes, whatever the size of the table.
constexpr std::int64_t rows_per_piece = 1 << 17;
/// Rows whose standard errors are found in one matrix product.
constexpr std::int64_t rows_per_product = 256;

/// The variables of the model's right-hand side, which is what a prediction reads.
std::vector<Expression> predictors(const Formula& formula) {
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
  std::vector<double> scale;
  for (int i = 0; i < covariance.rows(); ++i)
    scale.push_back(covariance(i, i) > 0 ? std::sqrt(covariance(i, i)) : 1.0);
  Matrix correlations = covariance;
  for (int j = 0; j < covariance.cols(); ++j) {
    for (int i = 0; i < covariance.rows(); ++i)
      correlations(i, j) /= scale[static_cast<std::size_t>(i)] * scale[static_cast<std::size_t>(j)];
  }
  SymmetricEigen eigen = symmetric_eigen(correlations);
  for (int j = 0; j < covariance.cols(); ++j) {
    const double length = std::sqrt(std::max(0.0, eigen.values[static_cast<std::size_t>(j)]));
    for (int i = 0; i < covariance.rows(); ++i)
      eigen.vectors(i, j) *= length * scale[static_cast<std::size_t>(i)];
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

/// Says once what became of the rows whose levels the fit had not.
void report_unseen(const Frame& frame, std::span<const std::string> random) {
  for (const ColumnReading& column : frame.columns) {
    if (column.unseen == 0) continue;
    std::string levels;
    for (const std::string& level : column.unseen_levels)
      levels += fmt::format("{}'{}'", levels.empty() ? "" : ", ", level);
    const bool effect =
        std::find(random.begin(), random.end(), column_expression(column.name).text) != random.end();
    files::say_line(
        {fmt::format("tessera-fit: {} {} of '{}' that the fit had not ({}{}): {}",
                     base::counted(column.unseen, "row"), column.unseen == 1 ? "has a level" : "have levels",
                     column.name, levels, column.more_unseen ? ", ..." : "",
                     effect ? "predicted without that random effect" : "their predictions are NA")});
  }
}

class Predictor {
 public:
  Predictor(const Model& model, const PredictiveModel& predictive, const Design& design, const Frame& frame,
            std::span<const int> offsets, const PredictOptions& options)
      : model_(model), design_(design), frame_(frame), offsets_(offsets), options_(options) {
    raw_coef_ = design.raw_coefficients(predictive.coef);
    if (options.standard_errors) root_ = covariance_root(predictive.covariance);
  }

  /// Local rows [begin, end).
  void predict(std::int64_t begin, std::int64_t end, std::span<Prediction> out) const {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto row = static_cast<std::size_t>(i);
      Prediction& prediction = out[static_cast<std::size_t>(i - begin)];
      if (frame_.complete[row] == 0) continue;
      prediction.fit = linear_predictor(frame_, design_, row, raw_coef_);
      for (const int offset : offsets_) {
        prediction.fit += frame_.variables[static_cast<std::size_t>(offset)].numbers[row];
      }
    }
    if (options_.standard_errors) {
      for (std::int64_t i = begin; i < end;) {
        const std::int64_t place = (frame_.rows.begin + i) % rows_per_product;
        const std::int64_t stop = std::min(end, i + rows_per_product - place);
        standard_errors(i, stop, static_cast<int>(place), out.subspan(static_cast<std::size_t>(i - begin)));
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
  /// Of rows that lie from `place` on among those of one product. A product has all its columns and each row
  /// of the table a column of its own in it, whoever predicts the others: BLAS rounds a column by where it
  /// lies.
  void standard_errors(std::int64_t begin, std::int64_t end, int place, std::span<Prediction> out) const {
    Matrix rows(design_.coef_size, static_cast<int>(rows_per_product));
    for (std::int64_t i = begin; i < end; ++i) {
      const auto row = static_cast<std::size_t>(i);
      if (frame_.complete[row] != 0) {
        coefficient_row(frame_, design_, row, rows.column(place + static_cast<int>(i - begin)));
      }
    }
    const Matrix projected = multiply_tn(root_, rows);
    for (std::int64_t i = begin; i < end; ++i) {
      if (frame_.complete[static_cast<std::size_t>(i)] == 0) continue;
      const auto column = projected.column(place + static_cast<int>(i - begin));
      out[static_cast<std::size_t>(i - begin)].se = std::sqrt(dot(column, column));
    }
  }

  const Model& model_;
  const Design& design_;
  const Frame& frame_;
  std::span<const int> offsets_;
  const PredictOptions& options_;
  std::vector<double> raw_coef_;
  Matrix root_;
};

void append_number(std::string& text, double value) {
  if (std::isnan(value)) {
    text += "NA";
  } else {
    fmt::format_to(std::back_inserter(text), "{:.17g}", value);
  }
}

/// Rank 0 writes every rank's lines in the order of the rows, a piece at a time. *Collective.*
void write_rows(const mpi::Communicator& comm, const Plan& plan, std::span<const Prediction> mine,
                bool with_se, files::OutputFile* file) {
  const auto emit = [&](std::string_view text) {
    if (file != nullptr) {
      file->write(text);
    } else {
      files::write_data(text);
    }
  };
  const bool root = comm.rank() == 0;
  together(comm, [&] {
    if (root) emit(with_se ? "fit,se\n" : "fit\n");
  });
  for (int rank = 0; rank < comm.size(); ++rank) {
    const std::int64_t rows = plan.range_of(rank).size();
    for (std::int64_t begin = 0; begin < rows; begin += rows_per_piece) {
      std::string text;
      if (rank == comm.rank()) {
        const std::int64_t end = std::min(rows, begin + rows_per_piece);
        for (std::int64_t i = begin; i < end; ++i) {
          append_number(text, mine[static_cast<std::size_t>(i)].fit);
          if (with_se) {
            text += ',';
            append_number(text, mine[static_cast<std::size_t>(i)].se);
          }
          text += '\n';
        }
      }
      std::vector<std::size_t> counts(static_cast<std::size_t>(comm.size()), 0);
      counts[0] = text.size();
      const auto arrived = comm.alltoallv(std::span<const char>(text), counts);
      together(comm, [&] {
        if (root) emit({arrived.data(), arrived.size()});
      });
    }
  }
}

}  // namespace

void predict_file(Job& job, const Model& model, const std::string& data, const PredictOptions& options,
                  Progress& progress) {
  const mpi::Communicator& comm = job.comm();
  const bool root = comm.rank() == 0;
  std::optional<files::OutputFile> file;
  together(comm, [&] {
    if (root && !options.out.empty()) file.emplace(options.out);
  });

  const Formula formula = parse_formula(model.formula);
  FrameRequest request;
  request.variables = predictors(formula);
  request.known_levels = model.design.known_levels();
  request.unseen_is_complete = factors_of_random_effects(model.design);
  request.numeric = model.design.known_numbers();
  request.options = options.table;
  for (const Expression& offset : formula.offsets) request.numeric.push_back(offset.text);
  progress.now("reading " + data);
  Plan plan;
  const Frame frame = [&] {
    const mpi::Purpose purpose(comm, "the reading of the table");
    const auto table = open_table(comm, data);
    plan = job.plan(table->rows());
    return table->read(comm, request, job.local_range(plan));
  }();
  if (root) report_unseen(frame, request.unseen_is_complete);

  const PredictiveModel predictive = model.predictive();
  Design design;
  std::vector<int> offsets;
  together(comm, [&] {
    design = reindexed(predictive.design, frame);
    for (const Expression& offset : formula.offsets) offsets.push_back(frame.index_of(offset.text));
  });

  progress.now("predicting");
  const Predictor predictor(model, predictive, design, frame, offsets, options);
  const std::int64_t first = frame.rows.begin;
  const auto predictions = job.map<Prediction>(
      plan, std::span<const std::uint8_t>(frame.complete),
      [](Tile& tile, std::span<const std::uint8_t>, std::span<Prediction>) {
        tile.fail("predictions are computed on the CPU");
      },
      [&](const HostTile& tile, std::span<const std::uint8_t>, std::span<Prediction> out) {
        predictor.predict(tile.range.begin - first, tile.range.end - first, out);
      });
  const mpi::Purpose purpose(comm, "the writing of the predictions");
  write_rows(comm, plan, predictions, options.standard_errors, file ? &*file : nullptr);
  together(comm, [&] {
    if (!root) return;
    if (file)
      file->commit();
    else
      files::flush_output();
  });
}

}  // namespace tessera::gam
