// SPDX-License-Identifier: Apache-2.0
// Fits a table; reads it again after a device failure.
#include "base/cancellation.hpp"
#include "base/errors.hpp"
#include "gam/data/frame/variable_summary.hpp"
#include "gam/data/source/shared_input.hpp"
#include "gam/data/table_source.hpp"
#include "gam/design/model_terms.hpp"
#include "gam/family/family.hpp"
#include "gam/fit/fit_frame.hpp"
#include "gam/fit/fit_request.hpp"
#include "gam/fit/pirls/fit_checkpoint.hpp"
#include "gam/fit/pirls/prepare_rows.hpp"
#include "gam/fit/run/device_choice.hpp"
#include "gam/fit/stored_rows.hpp"
#include "gam/rows/device_table.hpp"
#include "gam/rows/kernel_source.hpp"
#include "gam/rows/real_devices.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/fit.hpp>
#include <tessera/job/device_turn.hpp>
#include <tessera/job/stop_request.hpp>
#include <tessera/job/together.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Variables of the formula's right-hand side, and the columns that they read, each once.
std::vector<Expression> predictors_of(const std::string& formula) {
  const FormulaTerms terms = parse_terms(formula);
  std::vector<Expression> all = terms.variables();
  std::erase_if(all, [&](const Expression& one) { return one.text == terms.response.text; });
  const std::size_t written = all.size();
  for (std::size_t i = 0; i < written; ++i) {
    if (all[i].is_column() && !all[i].computed()) continue;
    for (const std::string& name : all[i].columns()) {
      Expression column = column_expression(name);
      if (std::ranges::find(all, column.text, &Expression::text) == all.end())
        all.push_back(std::move(column));
    }
  }
  return all;
}

/// Throws `Error(usage)` unless the family has as many linear predictors as there are formulas.
void check_predictors(const FormulaTerms& formula, const Family& family) {
  const int given = formula.predictors() - formula.shared();
  if (given == family.predictor_count()) return;
  const int wanted = family.predictor_count();
  std::string what = "give one formula, response ~ terms";
  if (wanted > 1) {
    constexpr int most_shown = 4;
    what = fmt::format("give one formula for each of {}: list(response ~ terms", family.several()->meaning());
    for (int p = 1; p < std::min(wanted, most_shown); ++p) what += ", ~ terms";
    what += wanted > most_shown ? ", ...)" : ")";
  }
  if (family.several() != nullptr && family.several()->classes() > 0)
    what += fmt::format(", or write {}(K={})", family.name(), given);
  throw base::usage_error("the family {} has {} linear predictor{}, but there {} {} formula{}: {}",
                          family.text(), wanted, wanted == 1 ? "" : "s", given == 1 ? "is" : "are", given,
                          given == 1 ? "" : "s", what);
}

void check_trials(const FormulaTerms& formula, const Family& family) {
  if (formula.trials && !family.two_levels())
    throw base::usage_error(
        "the response {} cannot be used with the family {}: use binomial, quasibinomial or a censored "
        "family, for example cnorm",
        formula.response.text, family.name());
}

/// Adds ordered factors of the table that the model reads. The response's order of levels has no meaning.
void take_ordered(const std::vector<std::string>& columns, const std::string& response,
                  FrameRequest& request) {
  for (const std::string& column : columns) {
    const auto reads = [&](const Expression& one) {
      const std::vector<std::string> read = one.columns();
      return one.text != response && std::ranges::find(read, column) != read.end();
    };
    if (std::ranges::none_of(request.variables, reads) && !(request.subset && reads(*request.subset)))
      continue;
    const auto given = std::ranges::find(request.given_levels, column, &FrameRequest::GivenLevels::column);
    if (given == request.given_levels.end())
      request.given_levels.push_back({column, {}, true});
    else
      given->ordered = true;
  }
}

class TableFit {
 public:
  TableFit(Job& job, const Formula& formula, const TableSource& source, const FitOptions& options,
           FitObserver* observer)
      : job_(job),
        formula_(with_options(formula.terms(), options)),
        source_(source),
        options_(options),
        observer_(observer != nullptr ? *observer : silent_) {}

  /// `print`: the fingerprint for checkpoints, which rank 0 uses.
  FitResult run(const Fingerprint& print) {
    check_correlation(options_);
    check_trials(formula_, options_.family.definition());
    check_predictors(formula_, options_.family.definition());
    if (options_.sample < 0 || options_.sample > most_stored_rows)
      throw base::usage_error("sample is {}: give 0 to {}", options_.sample, most_stored_rows);
    if (const std::string own = options_.family.definition().toml(); !own.empty())
      require_same_content(job_.comm(), options_.family.file(), own);
    FitCheckpoint checkpoint(job_, options_.checkpoint, print, may_stay_on_cpu(), observer_);
    StopRequest* stop = job_.options().stop;
    const auto check = [stop] {
      if (stop->requested()) throw Error(ErrorCode::interrupted, "the job was asked to stop");
    };
    try {
      // A job of one rank may stop anywhere; several ranks stop together, in passes and in the REML search.
      std::optional<base::CancellationScope> cancellation;
      if (stop != nullptr && job_.comm().is_serial()) cancellation.emplace(check);
      FittedModel model = fit_until_it_stays(checkpoint);
      return result(std::move(model), checkpoint);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::interrupted || stop == nullptr) throw;
    }
    static_cast<void>(stop->agree());
    checkpoint.stop(stop->cause());
  }

 private:
  /// Whether the fit may stay on the CPU of a job with devices. A fit of a table in memory may not, because
  /// the table's plan, which may be one for devices, fixes each rank's rows.
  [[nodiscard]] bool may_stay_on_cpu() const { return job_.options().policy != Policy::gpu && !source_.plan; }

  /// Starts over on the CPU after a device failure, or on the other devices if a rank lost its last device.
  FittedModel fit_until_it_stays(FitCheckpoint& checkpoint) {
    for (;;) {
      DeviceTurn turn(job_);
      std::shared_ptr<DeviceTable> on_devices;  // destroyed before the turn
      Frame frame = read(checkpoint, turn, on_devices);
      FormulaTerms terms;
      together(job_.comm(), [&] { terms = model_terms({job_.comm(), job_.host_team()}, formula_, frame); });
      try {
        FittedModel model = fit_frame({.job = job_,
                                       .plan = plan_,
                                       .formula = terms,
                                       .options = options_,
                                       .observer = observer_,
                                       .phases = phases_,
                                       .checkpoint = &checkpoint,
                                       .on_devices = std::move(on_devices),
                                       .may_move_to_hosts = may_stay_on_cpu()},
                                      std::move(frame));
        model.outline.summaries = std::move(summaries_);
        model.sample = std::move(sample_);
        return model;
      } catch (const NeedsHosts& needed) {
        observer_.note("using the CPU: " + needed.why);
        checkpoint.stay_on_cpu("computed on the CPU: " + needed.why);
      } catch (const FellBack&) {
        observer_.note(to_string(job_.last_verdict()) + "; restarting on the CPU");
        checkpoint.keep_on_cpu();
      } catch (const Error& error) {
        if (error.code() != ErrorCode::outdated_plan || source_.plan) throw;
        observer_.note(std::string(error.what()) + "; restarting on the remaining devices");
      }
    }
  }

  /// `on_devices`: set to the frame's columns on the devices; some may still be in transfer.
  Frame read(FitCheckpoint& checkpoint, DeviceTurn& turn, std::shared_ptr<DeviceTable>& on_devices) {
    PhaseClock clock(job_.comm(), phases_, "read", "the reading of the table");
    observer_.now("counting the rows of " + source_.name);
    const Workers workers{job_.comm(), job_.host_team()};
    const auto table = open_source(workers, source_, job_.options().stop,
                                   {.tell = [this](std::string_view line) { observer_.note(line); },
                                    .node_bytes = options_.memory.node_bytes});
    const std::int64_t block = source_.options.block_rows;
    if (formula_.all_columns)
      formula_ = with_options(parse_terms(with_columns(formula_.text, table->columns())), options_);
    choose_hardware(table->rows(), checkpoint);
    plan_ = source_.plan                                         ? *source_.plan
            : job_.on_host() || !checkpoint.why_on_cpu().empty() ? job_.plan_for_hosts(table->rows(), block)
                                                                 : job_.plan(table->rows(), block);
    observer_.now(fmt::format("reading {} rows of {}", table->rows(), source_.name));
    FrameRequest request = request_of_fit(formula_, options_, source_.options);
    take_ordered(table->ordered_columns(), formula_.response.text, request);
    const std::vector<Expression> predictors =
        options_.residuals ? predictors_of(formula_.text) : std::vector<Expression>();
    const std::vector<Expression> stored =
        options_.sample > 0 ? columns_read_by(request.variables) : std::vector<Expression>();
    const auto add = [&](const Expression& one) {
      for (const auto* const all : {&request.variables, &request.columns}) {
        if (std::ranges::find(*all, one.text, &Expression::text) != all->end()) return;
      }
      request.columns.push_back(one);
    };
    for (const Expression& one : predictors) {
      request.medians.push_back(one.text);
      add(one);
    }
    std::ranges::for_each(stored, add);
    on_devices = make_device_table(
        job_, options_.memory.device_bytes.value_or(std::numeric_limits<std::int64_t>::max()));
    if (on_devices && begins_on_real_devices(job_, plan_))
      request.taker = begin_upload(*table, request, turn, *on_devices);
    Frame frame = read_variables(*table, workers, request, job_.local_range(plan_));
    for (const ColumnReading& column : frame.columns) observer_.note(to_string(column));
    if (frame.chosen_rows)
      observer_.note(fmt::format("subset: {} of {} rows", *frame.chosen_rows, frame.file_rows));
    spilled_ = frame.spilled;
    if (spilled_.bytes > 0) observer_.note(to_string(spilled_));
    clock.add_bytes(job_.comm().allreduce(table->bytes_read(), mpi::Reduction::sum));
    if (!stored.empty()) sample_ = stored_rows(workers, frame, stored, options_.sample);
    summarise(workers, predictors, request.columns.size(), frame);
    return frame;
  }

  /// Starts uploading in-memory columns. Returns the receiver of the numbers to be read, or null.
  NumberTaker* begin_upload(const TableReader& table, const FrameRequest& request, DeviceTurn& turn,
                            DeviceTable& on_devices) {
    std::vector<NamedNumbers> columns;
    for (const Expression& one : request.variables) {
      if (!one.is_column() || one.factor || one.computed()) continue;
      if (const ColumnNumbers* const numbers = table.numbers_in_memory(one.columns().front()))
        columns.push_back({one.text, numbers});
    }
    if (columns.empty()) return nullptr;
    turn.begin();
    const auto most_of_row = static_cast<std::int64_t>((request.variables.size() + 1) * sizeof(double));
    return gam::begin_upload(on_devices, job_, plan_, columns, most_of_row);
  }

  /// Stores predictors' summaries. Drops the frame's last `columns` variables, which the fit does not read.
  void summarise(const Workers& workers, std::span<const Expression> predictors, std::size_t columns,
                 Frame& frame) {
    std::vector<std::size_t> indices;
    for (const Expression& one : predictors)
      indices.push_back(static_cast<std::size_t>(frame.index_of(one.text)));
    const std::int64_t block_of_means = options_.sample > 0 ? plan_.block() : 0;
    summaries_ = summaries_of(workers, frame, indices, block_of_means);
    frame.variables.resize(frame.variables.size() - columns);
    if (!frame.extents.empty()) frame.extents.resize(frame.variables.size());
  }

  /// Chooses the CPU if it is estimated to be faster. A resumed fit stays on its hardware.
  void choose_hardware(std::int64_t rows, FitCheckpoint& checkpoint) {
    if (source_.plan || checkpoint.resumed() || !checkpoint.why_on_cpu().empty()) return;
    const auto stay_on_cpu = [&](const std::string& reason) {
      observer_.note("using the CPU: " + reason);
      checkpoint.stay_on_cpu("computed on the CPU: " + reason);
    };
    if (may_stay_on_cpu() && !job_.on_host()) {
      if (has_correlated_residuals(options_)) return stay_on_cpu("GPUs do not support AR1 residuals");
      const std::string why = only_on_hosts(options_.family.definition());
      if (!why.empty()) return stay_on_cpu(why);
    }
    const Family& family = options_.family.definition();
    estimate_ = estimate_to_choose_by(
        job_, [&] { return family_module(family); },
        [&](const Hardware& hardware) { return estimate_cost(formula_, family.linear(), rows, hardware); });
    if (!estimate_ || estimate_->host_seconds > estimate_->device_seconds) return;
    stay_on_cpu(reason_for_host(*estimate_, job_.inventory().gpus()));
  }

  FitResult result(FittedModel model, const FitCheckpoint& checkpoint) {
    FitResult out{.model = Model(std::make_shared<const FittedModel>(std::move(model))),
                  .plan = std::move(plan_),
                  .phases = std::move(phases_),
                  .estimate = estimate_,
                  .resumed_from = {},
                  .checkpoint = checkpoint.files(),
                  .kept = checkpoint.kept(),
                  .spilled_bytes = spilled_.bytes,
                  .scratch = spilled_.bytes > 0 ? spilled_.folder : std::string()};
    if (checkpoint.resumed() && checkpoint.resumed()->iteration > 0)
      out.resumed_from = checkpoint.resumed()->iteration;
    return out;
  }

  Job& job_;
  FormulaTerms formula_;
  const TableSource& source_;
  const FitOptions& options_;
  FitObserver silent_;
  FitObserver& observer_;
  Plan plan_;
  std::vector<PhaseTime> phases_;
  std::optional<CostEstimate> estimate_;
  SpilledColumns spilled_;
  std::vector<VariableSummary> summaries_;
  SampledRows sample_;
};

}  // namespace

FitResult fit(Job& job, const Formula& formula, const Table& table, const FitOptions& options,
              FitObserver* observer) {
  TableSource source = source_of(table);
  Fingerprint print;
  if (!options.checkpoint.empty())
    print = fingerprint_of({job.comm(), job.host_team()}, table, formula.terms(), options, source.expected);
  return TableFit(job, formula, source, options, observer).run(print);
}

}  // namespace TESSERA_NAMESPACE::gam
