// SPDX-License-Identifier: Apache-2.0
#include "gam/basis/bases.hpp"
#include "gam/model/model.hpp"
#include "gam/rows/prediction_pass.hpp"
#include "gam/table/reader/shared_input.hpp"
#include "gam/table/table_source.hpp"

#include <tessera/gam/predict.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <tessera/error.hpp>
#include <tessera/job/together.hpp>
#include <tessera/topology/memory_shortage.hpp>
#include <utility>
#include <vector>

#include "base/counted.hpp"
#include "base/huge_pages.hpp"

namespace tessera::gam {
namespace {

/// The variables that a prediction reads: those of the model's right-hand side.
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
        if (is(margin.variable) || std::any_of(margin.others.begin(), margin.others.end(), is)) return true;
      }
    }
    return std::any_of(formula.offsets.begin(), formula.offsets.end(), is);
  };
  std::erase_if(variables, [&](const Expression& variable) { return !on_the_right(variable); });
  return variables;
}

/// Names of the factors that only random effects use.
std::vector<std::string> factors_of_random_effects(const Design& design) {
  std::vector<std::string> random;
  for (const auto& known : design.known_levels()) {
    const std::string& name = known.first;
    const bool elsewhere =
        std::any_of(design.blocks.begin(), design.blocks.end(), [&](const CoefBlock& block) {
          const auto used = std::find(block.variables.begin(), block.variables.end(), name);
          // The last variable is that of `by`; a smooth by a factor has one block for each level.
          const bool by = !block.by_level.empty() && block.variables.back() == name;
          return used != block.variables.end() && (!is_random_effect(block.kind) || by);
        });
    if (!elsewhere) random.push_back(name);
  }
  return random;
}

/// What was done with the rows of unseen levels.
std::vector<std::string> remarks_on_unseen(std::span<const ColumnReading> columns,
                                           std::span<const std::string> random) {
  std::vector<std::string> remarks;
  for (const ColumnReading& column : columns) {
    if (column.unseen == 0) continue;
    std::string levels;
    for (const std::string& level : column.unseen_levels)
      levels += fmt::format("{}'{}'", levels.empty() ? "" : ", ", level);
    const bool effect = std::find(random.begin(), random.end(), column.variable) != random.end();
    if (!levels.empty()) levels = fmt::format(" ({}{})", levels, column.more_unseen ? ", ..." : "");
    remarks.push_back(
        fmt::format("{} {} of '{}' that the fit had not{}: {}", base::counted(column.unseen, "row"),
                    column.unseen == 1 ? "has a level" : "have levels", column.name, levels,
                    effect ? "predicted without that random effect" : "their predictions are NA"));
  }
  return remarks;
}

/// What a prediction reads of a table.
FrameRequest request_for(const FormulaTerms& formula, const FittedModel& model, const TableOptions& options) {
  const Design& design = model.design;
  FrameRequest request;
  request.variables = predictors(formula);
  request.known_levels = design.known_levels();
  request.unseen_is_complete = factors_of_random_effects(design);
  request.numeric = design.known_numbers();
  request.options = options;
  if (!model.recipe.empty() || std::ranges::any_of(request.variables, &Expression::computed))
    request.recipe = &model.recipe;
  for (const Expression& contrast : model.recipe.contrasts) request.variables.push_back(contrast);
  for (const Expression& offset : formula.offsets) request.numeric.push_back(offset.text);
  return request;
}

/// *Collective.* The sparsity pattern of a covariance, broadcast from rank 0, which alone has it after a fit.
std::shared_ptr<const SparsePattern> pattern_of_root(const mpi::Communicator& comm,
                                                     std::shared_ptr<const SparsePattern> pattern,
                                                     const Design& design) {
  const Part part = design.parted_coefficients();
  if (part.runs().size() < 2 && !design.parts_curves()) return nullptr;
  SparsePattern own;
  if (pattern) own = *pattern;
  own.begins.resize(static_cast<std::size_t>(part.size()) + 1);
  comm.broadcast(std::span(own.begins), 0);
  own.rows.resize(static_cast<std::size_t>(own.begins.back()));
  if (!own.rows.empty()) comm.broadcast(std::span(own.rows), 0);
  return pattern ? pattern : std::make_shared<const SparsePattern>(std::move(own));
}

/// *Collective.* Coefficients and their covariance, broadcast from rank 0, which alone has them after a fit.
PredictiveModel predictive_of(const mpi::Communicator& comm, const FittedModel& model, bool with_covariance) {
  PredictiveModel predictive = model.predictive();
  comm.broadcast(std::span<double>(predictive.coef), 0);
  if (with_covariance) {
    const auto size = static_cast<int>(predictive.coef.size());
    const auto pattern = pattern_of_root(comm, predictive.covariance.pattern(), predictive.design);
    if (predictive.covariance.empty())
      predictive.covariance = PartedMatrix(size, predictive.design.parted_coefficients(), pattern);
    predictive.covariance.for_each_array([&](std::span<double> values) {
      if (!values.empty()) comm.broadcast(values, 0);
    });
  } else {
    predictive.covariance = PartedMatrix();
  }
  return predictive;
}

/// Adds the unseen levels of one part of the table to those of the parts before.
void add_unseen(std::vector<ColumnReading>& sums, std::span<const ColumnReading> part) {
  if (sums.empty()) return sums.assign(part.begin(), part.end());
  // Behind the columns there may be expressions that some part has no number for.
  for (std::size_t i = 0; i < std::min(sums.size(), part.size()); ++i) {
    ColumnReading& sum = sums[i];
    const std::size_t listed = std::max(sum.unseen_levels.size(), part[i].unseen_levels.size());
    sum.unseen += part[i].unseen;
    std::set<std::string> levels(sum.unseen_levels.begin(), sum.unseen_levels.end());
    levels.insert(part[i].unseen_levels.begin(), part[i].unseen_levels.end());
    sum.unseen_levels.assign(levels.begin(), levels.end());
    sum.more_unseen = sum.more_unseen || part[i].more_unseen;
    // If levels were left out, list no more than one part does.
    if (sum.more_unseen && levels.size() > listed) sum.unseen_levels.resize(listed);
  }
}

/// Predicts the rows of a table, a part at a time.
class TablePrediction {
 public:
  /// *Collective.*
  TablePrediction(Job& job, const FittedModel& model, const TableSource& source,
                  const PredictOptions& options, FitObserver* observer)
      : job_(job),
        model_(model),
        source_(source),
        options_(options),
        progress_(observer != nullptr ? *observer : silent_),
        formula_(parse_terms(model.formula)),
        request_(request_for(formula_, model, source.options)) {
    const mpi::Communicator& comm = job.comm();
    require_same_content(comm, model.path, model.checksum);
    progress_.now("reading " + source.name);
    {
      const mpi::Purpose purpose(comm, "the reading of the table");
      table_ = open_source({comm, job.host_team()}, source, job.options().stop,
                           {.tell = [this](std::string_view line) { progress_.note(line); },
                            .node_bytes = options.node_bytes});
    }
    PredictiveModel predictive = predictive_of(comm, model, options.standard_errors);
    design_ = std::move(predictive.design);
    posterior_ = {.coef = std::move(predictive.coef),
                  .covariance = std::move(predictive.covariance),
                  .response = options.response};
  }

  /// Rows of the table.
  [[nodiscard]] std::int64_t rows() const { return table_->rows(); }
  [[nodiscard]] std::vector<std::string> remarks() const {
    return remarks_on_unseen(unseen_, request_.unseen_is_complete);
  }

  /// *Collective.* The rows of a part that fits into memory, the same on every rank.
  [[nodiscard]] std::int64_t rows_of_part() const {
    const mpi::Communicator& comm = job_.comm();
    if (options_.rows_at_once > 0) return options_.rows_at_once;
    // Numbers and the values they are parsed from, predictions, and predictions by column.
    const auto bytes_of_row = static_cast<std::int64_t>(16 * request_.variables.size() + 48);
    const std::int64_t wanted = job_.local_range(job_.plan(rows())).size() * bytes_of_row;
    // The text of a packed table counts towards a given limit; free memory already excludes it.
    const std::int64_t kept = options_.node_bytes ? table_->kept_bytes() : 0;
    const std::int64_t share = share_memory(comm, wanted + kept, options_.node_bytes).bytes - kept;
    const std::int64_t own = wanted <= share ? 1 : wanted / std::max<std::int64_t>(share, 1) + 1;
    const std::int64_t parts = comm.allreduce(own, mpi::Reduction::max);
    return std::max<std::int64_t>((rows() - 1) / parts + 1, 1);
  }

  /// *Collective.* The predictions of some rows.
  [[nodiscard]] Predictions predict(Range rows) {
    for (;;) {
      try {
        return predict_once(rows);
      } catch (const Error& error) {
        // A rank has lost its last device: read the rows again, for the remaining devices.
        if (error.code() != ErrorCode::outdated_plan || source_.plan) throw;
      }
    }
  }

 private:
  [[nodiscard]] Predictions predict_once(Range rows) {
    const mpi::Communicator& comm = job_.comm();
    Predictions out;
    out.first_row = rows.begin;
    out.plan = source_.plan ? *source_.plan
               : crossed()  ? job_.plan_for_hosts(rows.size())
                            : job_.plan(rows.size());
    const Frame frame = read(rows, out.plan);
    Design design;
    Rows of_model{.frame = &frame, .design = &design, .family = model_.family, .response = -1};
    together(comm, [&] {
      design = reindexed(design_, frame);
      for (const Expression& offset : formula_.offsets)
        of_model.offsets.push_back(frame.index_of(offset.text));
      if (crossed()) of_model.pairs = level_pairs({comm, job_.host_team()}, frame, design, 0, false);
    });
    progress_.now(rows.size() == this->rows() ? "predicting"
                                              : fmt::format("predicting rows {} to {} of {}", rows.begin + 1,
                                                            rows.end, this->rows()));
    take_apart(predict_rows(job_, out.plan, of_model, posterior_), out);
    add_unseen(unseen_, frame.columns);
    return out;
  }

  /// Whether variances need pairs of levels, which only hosts can look up.
  [[nodiscard]] bool crossed() const {
    return options_.standard_errors && design_.parted_columns.runs().size() > 1;
  }

  /// Reads this rank's part of `rows`, whose first row is the first unit of the plan.
  [[nodiscard]] Frame read(Range rows, const Plan& plan) {
    const mpi::Purpose purpose(job_.comm(), "the reading of the table");
    const Range mine = job_.local_range(plan);
    Frame frame = read_variables(*table_, {job_.comm(), job_.host_team()}, request_,
                                 {rows.begin + mine.begin, rows.begin + mine.end});
    frame.rows = mine;
    return frame;
  }

  void take_apart(std::span<const Prediction> predictions, Predictions& out) const {
    std::vector<double>* const columns[] = {&out.fit, &out.standard_errors};
    job_.host_team().for_each_block({0, options_.standard_errors ? 2 : 1}, 1, [&](int /*thread*/, Range one) {
      base::resize_in_huge_pages(*columns[one.begin], predictions.size());
    });
    constexpr std::int64_t rows_of_run = 1 << 16;
    job_.host_team().for_each_block(
        {0, std::ssize(predictions)}, rows_of_run, [&](int /*thread*/, Range run) {
          for (auto i = static_cast<std::size_t>(run.begin); i < static_cast<std::size_t>(run.end); ++i) {
            out.fit[i] = predictions[i].fit;
            if (options_.standard_errors) out.standard_errors[i] = predictions[i].se;
          }
        });
  }

  Job& job_;
  const FittedModel& model_;
  const TableSource& source_;
  PredictOptions options_;
  FitObserver silent_;
  FitObserver& progress_;
  FormulaTerms formula_;
  FrameRequest request_;
  std::unique_ptr<TableReader> table_;
  Design design_;
  Posterior posterior_;
  std::vector<ColumnReading> unseen_;
};

Predictions predict_from(Job& job, const FittedModel& model, const TableSource& source,
                         const PredictOptions& options, FitObserver* observer) {
  TablePrediction table(job, model, source, options, observer);
  Predictions out = table.predict({0, table.rows()});
  out.remarks = table.remarks();
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

std::vector<std::string> predict_in_parts(Job& job, const Model& model, const TableFile& file,
                                          FunctionRef<void(const Predictions&)> take,
                                          const PredictOptions& options, FitObserver* observer) {
  const TableSource source = source_of(file);
  TablePrediction table(job, model.fitted(), source, options, observer);
  const std::int64_t rows_of_part = table.rows_of_part();
  std::int64_t begin = 0;
  do {
    const std::int64_t end = begin + std::min(rows_of_part, table.rows() - begin);
    take(table.predict({begin, end}));
    begin = end;
  } while (begin < table.rows());
  return table.remarks();
}

}  // namespace tessera::gam
