// SPDX-License-Identifier: Apache-2.0
#include "base/at.hpp"
#include "base/errors.hpp"
#include "base/message.hpp"
#include "gam/data/require_memory.hpp"
#include "gam/data/source/shared_input.hpp"
#include "gam/data/table_source.hpp"
#include "gam/design/far_fields.hpp"
#include "gam/family/response_distribution.hpp"
#include "gam/inference/distributions.hpp"
#include "gam/inference/normal_draws.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/model/model.hpp"
#include "gam/predict/prediction_plan.hpp"
#include "gam/rows/prediction_pass.hpp"
#include "gam/terms/evaluation.hpp"

#include <tessera/gam/predict.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <set>
#include <tessera/error.hpp>
#include <tessera/job/together.hpp>
#include <tessera/topology/memory_shortage.hpp>
#include <utility>

#include "base/cancellation.hpp"
#include "base/huge_pages.hpp"
#include "base/pluralised.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// The variables that a prediction reads: those of the requested terms, and of offsets.
std::vector<Expression> variables_of(const PredictionPlan& plan, const FormulaTerms& formula,
                                     const Recipe& recipe) {
  std::vector<Expression> variables = formula.variables();
  variables.insert(variables.end(), recipe.contrasts.begin(), recipe.contrasts.end());
  std::set<std::string> read;
  for (const auto& factor : plan.design.known_levels()) read.insert(factor.first);
  for (const std::string& number : plan.design.known_numbers()) read.insert(number);
  if (plan.offsets) {
    for (const Expression& offset : formula.all_offsets()) read.insert(offset.text);
  }
  std::erase_if(variables, [&](const Expression& variable) { return !read.contains(variable.text); });
  return variables;
}

/// A remark such as "3 rows have levels of 'g' unknown to the fit ('d', 'e')".
std::string unseen_of(const ColumnReading& column) {
  std::string levels;
  for (const std::string& level : column.unseen_levels)
    levels += fmt::format("{}'{}'", levels.empty() ? "" : ", ", level);
  if (!levels.empty()) levels = fmt::format(" ({}{})", levels, column.more_unseen ? ", ..." : "");
  return fmt::format("{} {} of '{}' unknown to the fit{}", base::pluralised(column.unseen, "row"),
                     column.unseen == 1 ? "has a level" : "have levels", column.name, levels);
}

FrameRequest request_for(const FormulaTerms& formula, const FittedModel& model, const PredictionPlan& plan,
                         const TableOptions& options) {
  FrameRequest request;
  request.variables = variables_of(plan, formula, model.recipe);
  request.known_levels = plan.design.known_levels();
  request.unseen_is_complete = plan.unseen_is_complete;
  request.left_out_if_infinite = plan.design.known_numbers();
  request.numeric = plan.design.known_numbers();
  request.units = model.units;
  request.options = options;
  if (!model.recipe.empty() || std::ranges::any_of(request.variables, &Expression::computed))
    request.recipe = &model.recipe;
  for (const Expression& offset : formula.all_offsets()) {
    if (!plan.offsets) continue;
    request.numeric.push_back(offset.text);
    // An offset may be infinite, because the mean then has a limit: e.g. 0 for the offset log(0).
    if (std::ranges::find(request.numeric, offset.text) == request.numeric.end() - 1)
      request.unbounded.push_back(offset.text);
  }
  return request;
}

/// *Collective.* Broadcasts the sparsity pattern of the covariance from rank 0: after a fit, other ranks may
/// lack the pattern.
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

/// *Collective.* Broadcasts the coefficients and their covariance from rank 0: after a fit, other ranks may
/// lack both.
FittedModel known_everywhere(const mpi::Communicator& comm, FittedModel model, bool with_covariance) {
  base::broadcast_values(comm, 0, model.coef, model.centring.values);
  if (!with_covariance) {
    model.covariance = PartedMatrix();
    return model;
  }
  const auto size = static_cast<int>(model.coef.size());
  const auto pattern = pattern_of_root(comm, model.covariance.pattern(), model.design);
  if (model.covariance.empty()) {
    model.covariance = PartedMatrix(size, model.design.parted_coefficients(), pattern);
    model.centring.covariance = Matrix(size, static_cast<int>(model.centring.coefficients.size()));
  }
  model.covariance.for_each_array([&](std::span<double> values) {
    if (!values.empty()) comm.broadcast(values, 0);
  });
  if (!model.centring.coefficients.empty()) comm.broadcast(model.centring.covariance.values(), 0);
  return model;
}

/// Adds the unseen levels of one more part of the table to `sums`.
void add_unseen(std::vector<ColumnReading>& sums, std::span<const ColumnReading> part) {
  if (sums.empty()) return sums.assign(part.begin(), part.end());
  // Expressions, which follow the columns, may differ between parts and are not counted.
  for (std::size_t i = 0; i < std::min(sums.size(), part.size()); ++i) {
    ColumnReading& sum = sums[i];
    const std::size_t listed = std::max(sum.unseen_levels.size(), part[i].unseen_levels.size());
    sum.unseen += part[i].unseen;
    std::set<std::string> levels(sum.unseen_levels.begin(), sum.unseen_levels.end());
    levels.insert(part[i].unseen_levels.begin(), part[i].unseen_levels.end());
    sum.unseen_levels.assign(levels.begin(), levels.end());
    sum.more_unseen = sum.more_unseen || part[i].more_unseen;
    // Limits an incomplete list to the length of the longest list of a single part.
    if (sum.more_unseen && levels.size() > listed) sum.unseen_levels.resize(listed);
  }
}

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
        formula_(parse_terms(model.formula)) {
    const mpi::Communicator& comm = job.comm();
    require_same_content(comm, model.path, model.checksum);
    const FittedModel whole = known_everywhere(comm, model, needs_covariance(options));
    together(comm, [&] { plan_ = plan_of(whole, formula_, options); });
    if (options.prediction_interval > 0 && model.family.several() == nullptr)
      together(comm, [&] { response_.emplace(model.family, model.scale); });
    if (options.interval > 0) quantile_ = normal_quantile((1 + options.interval) / 2);
    request_ = request_for(formula_, model, plan_, source.options);
    progress_.now("reading " + source.name);
    const mpi::Purpose purpose(comm, "the reading of the table");
    table_ = open_source(
        {comm, job.host_team()}, source, job.options().stop,
        {.tell = [this](std::string_view line) { progress_.note(line); }, .node_bytes = options.node_bytes});
    together(comm, [&] { choose_kept(); });
    add_far_fields({comm, job.host_team()}, plan_.design, rows());
  }

  [[nodiscard]] std::int64_t rows() const { return table_->rows(); }
  [[nodiscard]] std::vector<std::string> remarks() const {
    std::vector<std::string> remarks;
    for (const ColumnReading& column : unseen_) {
      if (column.unseen > 0)
        remarks.push_back(fmt::format("{}: {}", unseen_of(column), treatment_of_unseen(column.variable)));
    }
    if (options_.prediction_interval > 0 && model_.family.several() != nullptr)
      remarks.emplace_back("prediction intervals ignore the uncertainty of the estimated parameters");
    if (model_.rho != 0 && (options_.interval > 0 || options_.prediction_interval > 0))
      remarks.push_back(fmt::format(
          "intervals hold for single rows and ignore the correlation of the residuals (rho = {:g})",
          model_.rho));
    return remarks;
  }

  /// *Collective.* Number of rows of a part that fits into memory; equal on all ranks.
  [[nodiscard]] std::int64_t rows_of_part() const {
    const mpi::Communicator& comm = job_.comm();
    if (options_.rows_at_once > 0) return options_.rows_at_once;
    // Memory per row: the numbers, the texts from which they are parsed, and the predictions twice.
    const std::int64_t columns = column_count();
    const std::int64_t bytes_of_row = 16 * std::ssize(request_.variables) + 24 * std::ssize(kept_.variables) +
                                      8 * columns + (on_hosts_alone() ? 0 : 16) + 16;
    const std::int64_t wanted = job_.local_range(job_.plan(rows())).size() * bytes_of_row;
    // A given memory limit includes the text of a compressed table; measured free memory already excludes the
    // text.
    const std::int64_t kept = options_.node_bytes ? table_->kept_bytes() : 0;
    const std::int64_t share = share_memory(comm, wanted + kept, options_.node_bytes).bytes - kept;
    const std::int64_t own = wanted <= share ? 1 : wanted / std::max<std::int64_t>(share, 1) + 1;
    const std::int64_t parts = comm.allreduce(own, mpi::Reduction::max);
    return std::max<std::int64_t>((rows() - 1) / parts + 1, 1);
  }

  /// *Collective.*
  [[nodiscard]] Predictions predict(Range rows) {
    for (;;) {
      try {
        return predict_once(rows);
      } catch (const Error& error) {
        // A rank has lost its last device: plan for the remaining devices, and read the rows again.
        if (error.code() != ErrorCode::outdated_plan || source_.plan) throw;
      }
    }
  }

 private:
  [[nodiscard]] Predictions predict_once(Range rows) {
    const mpi::Communicator& comm = job_.comm();
    Predictions out;
    out.first_row = rows.begin;
    out.table_rows = this->rows();
    out.constant = plan_.constant;
    out.plan = source_.plan       ? *source_.plan
               : on_hosts_alone() ? job_.plan_for_hosts(rows.size())
                                  : job_.plan(rows.size());
    const Frame frame = read(rows, out.plan);
    add_unseen(unseen_, frame.columns);
    Design design;
    Rows of_model{.frame = &frame, .design = &design, .family = model_.family, .response = -1};
    together(comm, [&] {
      refuse_unseen();
      design = reindexed(plan_.design, frame);
      for (int p = 0; plan_.offsets && p < formula_.predictors(); ++p) {
        std::vector<int> own;
        for (const Expression& offset : formula_.of_predictor(p).offsets)
          own.push_back(frame.index_of(offset.text));
        if (p == 0)
          of_model.offsets = std::move(own);
        else
          of_model.further_offsets.push_back(std::move(own));
      }
      if (crossed()) of_model.pairs = level_pairs({comm, job_.host_team()}, frame, design, 0, false);
    });
    prepare_room(rows.size());
    progress_.now(rows.size() == this->rows() ? "predicting"
                                              : fmt::format("predicting rows {} to {} of {}", rows.begin + 1,
                                                            rows.end, this->rows()));
    for (const std::string& name : names()) out.columns.push_back({name, {}});
    job_.host_team().for_each_block({0, std::ssize(out.columns)}, 1, [&](int /*thread*/, Range one) {
      base::resize_in_huge_pages(out.columns[at(one.begin)].values, frame.complete.size());
    });
    evaluate(of_model, out);
    if (!plan_.absent_rows.empty() || !plan_.absent_of_term.empty()) leave_out_absent(of_model, out);
    leave_out_unseen(frame, out);
    if (!kept_.variables.empty()) keep(rows, out);
    return out;
  }

  /// *Collective.* Throws if predictions of this many rows do not fit into memory. The first call also draws
  /// the coefficients.
  void prepare_room(std::int64_t rows) {
    const mpi::Communicator& comm = job_.comm();
    const bool draws = options_.draws > 0 && draws_.empty();
    const auto each = static_cast<double>(rows + (draws ? std::ssize(model_.coef) : 0));
    require_memory(comm, static_cast<double>(column_count()) * each,
                   fmt::format("{} columns of {}", column_count(), base::pluralised(rows, "row")));
    if (draws) together(comm, [&] { draw_coefficients(); });
  }

  void choose_kept() {
    std::vector<std::string> kept = options_.keep;
    if (options_.keep_all) {
      kept = table_->columns();
      std::erase(kept, std::string());
    }
    kept_.options = source_.options;
    kept_.every_row = true;
    kept_.as_vectors = true;
    if (kept.empty()) return;
    const std::vector<std::string> predicted = names();
    for (const std::string& name : kept) {
      if (std::ranges::find(predicted, name) != predicted.end())
        throw base::usage_error(
            "the column '{}' of the table cannot be kept, because a column of the predictions has the same "
            "name: rename the column of the table",
            name);
      kept_.variables.push_back(column_expression(name));
      kept_names_.push_back(name);
    }
  }

  /// *Collective.* Copies the columns of `kept_` from the table.
  void keep(Range rows, Predictions& out) {
    const mpi::Purpose purpose(job_.comm(), "the reading of the table");
    const Range mine = job_.local_range(out.plan);
    Frame frame = table_->read({job_.comm(), job_.host_team()}, kept_,
                               {rows.begin + mine.begin, rows.begin + mine.end});
    for (std::size_t i = 0; i < kept_names_.size(); ++i) {
      Variable& variable = frame.variables[i];
      if (variable.factor)
        out.kept.push_back(
            {kept_names_[i], Factor{std::move(variable.codes.own()), std::move(variable.levels)}});
      else
        out.kept.push_back({kept_names_[i], std::move(variable.numbers.own())});
    }
  }

  void draw_coefficients() {
    const Posterior& posterior = plan_.posterior;
    const Matrix root = root_of(posterior.covariance.core);
    draws_ = Matrix(root.rows(), options_.draws);
    for (int draw = 0; draw < options_.draws; ++draw) {
      base::check_cancelled();
      const auto coef = draws_.column(draw);
      draw_normal(root, options_.seed, stream_of_coefficients, static_cast<std::uint64_t>(draw), coef);
      add_multiple(coef, 1, posterior.coef);
    }
  }

  void evaluate(const Rows& rows, Predictions& out) {
    if (out.columns.empty()) return;  // the model matrix has no coefficients, or there are no terms
    if (plan_.design_rows || options_.draws > 0) {
      const std::size_t columns = out.columns.size();
      const bool to_mean = options_.type == PredictionType::response;
      const auto put_rows = [&](std::size_t first, std::span<const double> elements) {
        for (std::size_t i = 0; i * columns < elements.size(); ++i) {
          for (std::size_t c = 0; c < columns; ++c) {
            const double element = elements[i * columns + c];
            out.columns[c].values[first + i] = to_mean ? model_.family.mean(element) : element;
          }
        }
      };
      if (plan_.design_rows) return gam::design_rows(job_, out.plan, rows, put_rows);
      return predictors_at(job_, out.plan, rows, draws_, put_rows);
    }
    if (plan_.posterior.terms.are_predictors && options_.type == PredictionType::response)
      return respond(rows, out);
    if (plan_.posterior.terms.count > 0)
      return predict_terms(
          job_, out.plan, rows, plan_.posterior,
          [&](std::size_t first, std::span<const Prediction> predictions) { put(first, predictions, out); });
    std::vector<Prediction> predictions = predict_rows(job_, out.plan, rows, plan_.posterior);
    if (model_.coef.empty()) {  // the standard error is 0
      for (Prediction& one : predictions) one.se = std::isnan(one.fit) ? one.fit : 0;
    }
    const std::int64_t rows_of_run = response_ ? 1 << 8 : 1 << 16;
    job_.host_team().for_each_block(
        {0, std::ssize(predictions)}, rows_of_run, [&](int /*thread*/, Range run) {
          const auto own = std::span<const Prediction>(predictions).subspan(at(run.begin), at(run.size()));
          if (has_suffixes())
            put_outputs(at(run.begin), own, out);
          else
            put(at(run.begin), own, out);
          if (response_) put_intervals(at(run.begin), own, out);
        });
  }

  /// Predictions on the scale of the response for several linear predictors. Standard errors by the delta
  /// method: sqrt(g'Vg), with the gradient g with respect to the coefficients.
  void respond(const Rows& rows, Predictions& out) const {
    const SeveralFamily& family = *model_.family.several();
    const auto predictors = at(family.predictors());
    const std::size_t columns = plan_.names.size();
    const std::size_t of_column = columns_of_term();
    std::vector<double> eta(rows.frame->complete.size() * predictors);
    const auto eta_of = [&](std::size_t row) {
      return std::span<const double>(eta).subspan(row * predictors, predictors);
    };
    Posterior means = plan_.posterior;
    means.covariance = PartedMatrix();
    const auto put_rows = [&](std::size_t first, std::span<const Prediction> predictions) {
      std::vector<double> values(columns);
      for (std::size_t i = 0; i < predictions.size(); ++i) eta[first * predictors + i] = predictions[i].fit;
      for (std::size_t row = first; row < first + predictions.size() / predictors; ++row) {
        family.respond(eta_of(row), values, {});
        for (std::size_t c = 0; c < columns; ++c) out.columns[c * of_column].values[row] = values[c];
        if (options_.prediction_interval > 0) put_interval(row, eta_of(row), out);
      }
    };
    predict_terms(job_, out.plan, rows, means, put_rows);
    if (!options_.standard_errors) return;
    const std::size_t size = model_.coef.size();
    gam::design_rows(job_, out.plan, rows, [&](std::size_t first, std::span<const double> elements) {
      std::vector<double> values(columns);
      std::vector<double> jacobian(columns * predictors);
      std::vector<double> gradient(size);
      for (std::size_t i = 0; i * size < elements.size(); ++i) {
        family.respond(eta_of(first + i), values, jacobian);
        for (std::size_t c = 0; c < columns; ++c) {
          std::ranges::fill(gradient, 0.0);
          for (const CoefBlock& block : plan_.design.blocks) {
            double slope = 0;
            plan_.design.for_each_reader(plan_.design.predictor_of(block), [&](int predictor) {
              slope += jacobian[c * predictors + at(predictor)];
            });
            for (auto j = at(block.coef_begin); j < at(block.coef_begin + block.coef_size); ++j)
              gradient[j] = slope * elements[i * size + j];
          }
          const double variance = dot(gradient, multiply(plan_.posterior.covariance, gradient));
          out.columns[c * of_column + 1].values[first + i] = std::sqrt(not_negative(variance));
        }
      }
    });
  }

  /// Outputs of a family with one linear predictor, such as class probabilities, with standard errors by the
  /// delta method.
  void put_outputs(std::size_t first, std::span<const Prediction> predictions, Predictions& out) const {
    const std::size_t columns = plan_.names.size();
    std::vector<double> values(columns);
    std::vector<double> slopes(columns);
    for (std::size_t i = 0; i < predictions.size(); ++i) {
      model_.family.respond({&predictions[i].fit, 1}, values, slopes);
      for (std::size_t c = 0; c < columns; ++c) {
        auto column = out.columns.begin() + static_cast<std::ptrdiff_t>(c * columns_of_term());
        column->values[first + i] = values[c];
        if (options_.standard_errors) column[1].values[first + i] = std::abs(slopes[c]) * predictions[i].se;
      }
    }
  }

  /// Stores the prediction interval of a family with several linear predictors in the last two columns.
  void put_interval(std::size_t row, std::span<const double> eta, Predictions& out) const {
    const bool missing = std::ranges::any_of(eta, [](double one) { return std::isnan(one); });
    for (const bool upper : {false, true}) {
      const double p = (1 + (upper ? 1 : -1) * options_.prediction_interval) / 2;
      (out.columns.end() - (upper ? 1 : 2))->values[row] =
          missing ? std::numeric_limits<double>::quiet_NaN() : model_.family.several()->quantile(p, eta);
    }
  }

  /// Stores row-major predictions in the columns, from row `first` on.
  void put(std::size_t first, std::span<const Prediction> predictions, Predictions& out) const {
    const std::size_t terms = at(plan_.posterior.terms.columns());
    for (std::size_t t = 0; t < terms; ++t) {
      auto column = out.columns.begin() + static_cast<std::ptrdiff_t>(t * columns_of_term());
      const auto each = [&](const auto& number) {
        double* to = column++->values.data() + first;
        for (std::size_t i = t; i < predictions.size(); i += terms) *to++ = number(predictions[i]);
      };
      const bool to_mean = options_.type == PredictionType::response && !plan_.posterior.response;
      const Family& family = model_.family;
      each([&](const Prediction& one) { return to_mean ? family.mean(one.fit) : one.fit; });
      if (options_.standard_errors) {
        each([&](const Prediction& one) {
          return to_mean ? std::abs(family.derivative(one.fit)) * one.se : one.se;
        });
      }
      if (options_.interval == 0) continue;
      for (const bool upper : {false, true}) {
        each([&](const Prediction& one) {
          const double low = one.fit - quantile_ * one.se;
          const double high = one.fit + quantile_ * one.se;
          if (!to_mean) return upper ? high : low;
          // A decreasing link swaps the bounds.
          const auto [least, most] = std::minmax({family.mean(low), family.mean(high)});
          return upper ? most : least;
        });
      }
    }
  }

  void put_intervals(std::size_t first, std::span<const Prediction> predictions, Predictions& out) const {
    for (const bool upper : {false, true}) {
      double* to = (out.columns.end() - (upper ? 1 : 2))->values.data() + first;
      const double p = (1 + (upper ? 1 : -1) * options_.prediction_interval) / 2;
      for (const Prediction& one : predictions) *to++ = response_->quantile(p, one.fit, one.se);
    }
  }

  [[nodiscard]] std::size_t columns_of_term() const {
    return 1 + (options_.standard_errors ? 1 : 0) + (options_.interval > 0 ? 2 : 0);
  }

  [[nodiscard]] std::int64_t column_count() const {
    return options_.draws > 0 && !plan_.design_rows ? options_.draws : std::ssize(names());
  }
  /// Whether `plan_.names` are suffixes of column names.
  [[nodiscard]] bool has_suffixes() const {
    return !plan_.terms && !plan_.design_rows && !plan_.names.empty();
  }
  [[nodiscard]] std::vector<std::string> names() const {
    if (plan_.design_rows) return plan_.names;
    std::vector<std::string> names;
    for (int draw = 1; draw <= options_.draws; ++draw) names.push_back(fmt::format("draw.{}", draw));
    if (options_.draws > 0) return names;
    const auto add = [&](const std::string& fit, const std::string& prefix, const std::string& suffix) {
      names.push_back(fit);
      if (options_.standard_errors) names.push_back(prefix + "se" + suffix);
      if (options_.interval == 0) return;
      names.push_back(prefix + "lower" + suffix);
      names.push_back(prefix + "upper" + suffix);
    };
    if (!plan_.terms && !has_suffixes()) add("fit", "", "");
    for (const std::string& one : plan_.names) {
      if (has_suffixes())
        add("fit" + one, "", one);
      else
        add(one, one + ".", "");
    }
    if (options_.prediction_interval > 0) {
      names.emplace_back("prediction.lower");
      names.emplace_back("prediction.upper");
    }
    return names;
  }

  [[nodiscard]] bool on_hosts_alone() const {
    return plan_.posterior.terms.count > 0 || plan_.terms || plan_.design_rows || options_.draws > 0 ||
           crossed();
  }
  /// Whether variances depend on pairs of levels (crossed random effects), which only the CPU supports.
  [[nodiscard]] bool crossed() const {
    return !plan_.terms && !plan_.posterior.covariance.empty() &&
           plan_.design.parted_columns.runs().size() > 1;
  }

  void refuse_unseen() const {
    if (options_.new_levels != NewLevels::error) return;
    for (const ColumnReading& column : unseen_) {
      if (column.unseen > 0) throw base::input_error("{}: {}", source_.name, unseen_of(column));
    }
  }
  /// A text that says how rows with an unseen level of `variable` are predicted.
  [[nodiscard]] std::string_view treatment_of_unseen(const std::string& variable) const {
    const auto is_it = [&](const auto& one) { return one.first == variable; };
    if (std::ranges::any_of(plan_.nan_at_unseen_levels, is_it))
      return "terms of this variable are NA in these rows";
    if (std::ranges::find(plan_.unseen_is_complete, variable) == plan_.unseen_is_complete.end())
      return "the predictions of these rows are NA";
    return options_.new_levels == NewLevels::population
               ? "these rows are predicted without the effects of this variable"
               : "these rows are predicted without this random effect";
  }
  /// Sets rows whose linear predictor is minus infinity to the limit; standard errors and bounds are NaN.
  void leave_out_absent(const Rows& rows, Predictions& out) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double missing = std::numeric_limits<double>::quiet_NaN();
    // The mean tends to 0 in all families whose linear predictor may be minus infinity.
    const double limit = options_.type == PredictionType::response ? 0 : -infinity;
    const std::size_t size = model_.coef.size();
    gam::design_rows(job_, out.plan, rows, [&](std::size_t first, std::span<const double> elements) {
      for (std::size_t i = 0; i * size < elements.size(); ++i) {
        const auto row = elements.subspan(i * size, size);
        for (std::size_t c = 0; c < plan_.absent_of_term.size(); ++c) {
          const auto is_in_row = [&](int coefficient) { return row[at(coefficient)] != 0; };
          if (std::ranges::none_of(plan_.absent_of_term[c], is_in_row)) continue;
          for (std::size_t k = 0; k < columns_of_term(); ++k)
            out.columns[c * columns_of_term() + k].values[first + i] = missing;
        }
        if (plan_.absent_rows.empty() || !(dot(row, plan_.absent_rows) > 0.5)) continue;
        for (std::size_t c = 0; c < out.columns.size(); ++c)
          out.columns[c].values[first + i] = c == 0 || options_.draws > 0 ? limit : missing;
      }
    });
  }
  void leave_out_unseen(const Frame& frame, Predictions& out) const {
    constexpr double missing = std::numeric_limits<double>::quiet_NaN();
    const std::size_t of_each = plan_.design_rows ? 1 : columns_of_term();
    for (const auto& [name, columns] : plan_.nan_at_unseen_levels) {
      const Variable& variable = frame.at(name);
      std::vector<std::size_t> rows;
      for (std::size_t i = 0; i < frame.complete.size(); ++i) {
        if (variable.codes[i] == Variable::unseen) rows.push_back(i);
      }
      for (const int column : columns) {
        for (std::size_t k = 0; k < of_each; ++k) {
          for (const std::size_t row : rows) out.columns[at(column) * of_each + k].values[row] = missing;
        }
      }
    }
  }

  /// Reads this rank's part of `rows`; the first row of `rows` is the first unit of the plan.
  [[nodiscard]] Frame read(Range rows, const Plan& plan) {
    const mpi::Purpose purpose(job_.comm(), "the reading of the table");
    const Range mine = job_.local_range(plan);
    Frame frame = read_variables(*table_, {job_.comm(), job_.host_team()}, request_,
                                 {rows.begin + mine.begin, rows.begin + mine.end});
    frame.rows = mine;
    return frame;
  }

  Job& job_;
  const FittedModel& model_;
  const TableSource& source_;
  PredictOptions options_;
  FitObserver silent_;
  FitObserver& progress_;
  FormulaTerms formula_;
  PredictionPlan plan_;
  FrameRequest request_;
  FrameRequest kept_;  ///< columns of the table to copy to the output
  std::vector<std::string> kept_names_;
  std::unique_ptr<TableReader> table_;
  std::vector<ColumnReading> unseen_;
  std::optional<ResponseDistribution> response_;
  Matrix draws_;         ///< draws of the coefficients, one per column
  double quantile_ = 0;  ///< half width of an interval in standard errors
};

}  // namespace

std::span<const double> Predictions::operator[](std::string_view name) const noexcept {
  const auto found = std::ranges::find(columns, name, &Column::name);
  return found == columns.end() ? std::span<const double>() : std::span<const double>(found->values);
}

Predictions predict(Job& job, const Model& model, const Table& table, const PredictOptions& options,
                    FitObserver* observer) {
  const TableSource source = source_of(table);
  TablePrediction prediction(job, model.fitted(), source, options, observer);
  Predictions out = prediction.predict({0, prediction.rows()});
  out.remarks = prediction.remarks();
  return out;
}

std::vector<std::string> predict_in_parts(Job& job, const Model& model, const Table& table,
                                          FunctionRef<void(const Predictions&)> take,
                                          const PredictOptions& options, FitObserver* observer) {
  const TableSource source = source_of(table);
  TablePrediction prediction(job, model.fitted(), source, options, observer);
  const std::int64_t rows_of_part = table.in_files() ? prediction.rows_of_part() : prediction.rows();
  std::int64_t begin = 0;
  do {
    const std::int64_t end = begin + std::min(rows_of_part, prediction.rows() - begin);
    take(prediction.predict({begin, end}));
    begin = end;
  } while (begin < prediction.rows());
  return prediction.remarks();
}

}  // namespace TESSERA_NAMESPACE::gam
