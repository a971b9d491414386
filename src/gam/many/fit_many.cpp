// SPDX-License-Identifier: Apache-2.0
#include "base/at.hpp"
#include "base/did_you_mean.hpp"
#include "base/errors.hpp"
#include "base/hash.hpp"
#include "base/pluralised.hpp"
#include "base/r_random.hpp"
#include "gam/data/output/table_output.hpp"
#include "gam/data/table_source.hpp"
#include "gam/family/family.hpp"
#include "gam/fit/pirls/fit_state.hpp"
#include "gam/fit/run/device_choice.hpp"
#include "gam/fit/run/phase_clock.hpp"
#include "gam/inference/false_discovery.hpp"
#include "gam/many/device_likelihood.hpp"
#include "gam/many/gathered_columns.hpp"
#include "gam/many/many_checkpoint.hpp"
#include "gam/many/many_setup.hpp"
#include "gam/many/response_results.hpp"
#include "gam/many/responses.hpp"
#include "gam/many/shared_model.hpp"
#include "gam/model/fitted_response.hpp"
#include "gam/rows/real_devices.hpp"

#include <tessera/gam/many.hpp>
#include <tessera/job/stop_request.hpp>
#include <tessera/job/together.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {

using base::at;

namespace {

/// Bytes of responses per rank in a batch. A device batch is large because it ends with its slowest response.
constexpr std::int64_t bytes_of_batch = std::int64_t{256} << 20;
constexpr std::int64_t bytes_of_device_batch = std::int64_t{1} << 30;
/// Responses fitted concurrently on a device, which computes sums of some while the host updates others.
constexpr std::size_t responses_on_device = 1024;
/// Number of batches, for reports of progress. Fewer if batches would be too small, more if too large.
constexpr std::int64_t least_batches = 20;

CostEstimate cost_of(const SharedDesign& design, std::int64_t responses, const Hardware& hardware) {
  // Measured on 16 cores of a Xeon of 2025 and on an H200.
  constexpr double passes = 40;  // typical number of passes over the rows of a response
  constexpr double host_seconds_of_row = 6e-9;
  constexpr double host_seconds_of_product = 0.2e-9;
  constexpr double device_seconds_of_row = 4e-11;
  constexpr double seconds_between_passes = 6e-6;  // host time per component
  constexpr double start_seconds = 0.5;
  constexpr double compilation_seconds = 6;
  double row_seconds = 0;
  for (const RowGroup& group : design.groups)
    row_seconds +=
        static_cast<double>(group.end - group.begin) * base::lane_count *
        (host_seconds_of_row + host_seconds_of_product * packed_size(static_cast<int>(group.columns.size())));
  const auto threads = static_cast<double>(std::max<std::int64_t>(hardware.host_threads, 1));
  const auto devices = static_cast<double>(std::max<std::int64_t>(hardware.devices, 1));
  const double all_passes = passes * static_cast<double>(responses);
  const double on_device = device_seconds_of_row * static_cast<double>(design.slots()) / devices;
  const double between = seconds_between_passes * static_cast<double>(design.components.size());
  return {.host_seconds = all_passes * row_seconds / threads,
          .device_seconds = start_seconds + (hardware.has_kernels ? 0 : compilation_seconds) +
                            all_passes * (on_device + between / threads)};
}

/// The nonempty lines of a file; none if the path is empty.
std::set<std::string> names_in(const std::string& path) {
  std::set<std::string> names;
  if (path.empty()) return names;
  constexpr std::int64_t most_bytes = std::int64_t{64} << 20;
  std::istringstream lines(files::InputFile(path).text(most_bytes));
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) names.insert(line);
  }
  return names;
}

/// Factories of the output tables. Called again if all responses are refitted.
struct TablesOfResults {
  std::function<std::unique_ptr<TableOutput>()> make_fits;
  std::function<std::unique_ptr<TableOutput>()> make_tests{};  ///< empty: no table of tests
  bool hold_matrices = false;
  bool hold_texts = false;
};

class ReducedModel {
 public:
  ReducedModel(SharedDesign design, const ManyEstimator& estimator)
      : design_(std::move(design)), fitters_(design_, estimator) {}

  /// NaN if the fit does not converge. Thread-safe.
  [[nodiscard]] double deviance(std::span<const double> values, const RowAdjustments& own) {
    auto fitter = fitters_.take();
    const ResponseFit fit = fitter->fit(values, own);
    fitters_.give_back(std::move(fitter));
    return fit.status == ManyStatus::converged ? fit.deviance : std::numeric_limits<double>::quiet_NaN();
  }

 private:
  SharedDesign design_;
  FitterPool fitters_;
};

class ManyFit {
 public:
  ManyFit(Job& job, const Table& covariates, const Responses& responses, const ManyOptions& options,
          TablesOfResults outputs, FitObserver& observer)
      : job_(job),
        covariates_(covariates),
        responses_(responses),
        options_(options),
        outputs_(std::move(outputs)),
        observer_(observer) {}

  ManySummary run(const FormulaTerms& formula) {
    if (options_.covariances && !outputs_.hold_matrices)
      throw base::usage_error(
          "covariances need HDF5: give the file of fits a name that ends in .h5, or leave covariances out");
    open_outputs();
    prepare(formula);
    open_checkpoint(formula);
    try {
      while (!fit_all()) start_over();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::interrupted || job_.options().stop == nullptr) throw;
      stop();
    }
    write_tests();
    commit();
    summary_.responses = std::ssize(names_);
    return std::move(summary_);
  }
  /// The model that all responses share. Valid after `run`.
  [[nodiscard]] FittedModel take_model() { return std::move(model_); }

 private:
  struct Batch {
    Plan plan;
    Range responses;
    std::vector<std::vector<double>> p_values;  ///< by test, then by response of this rank
  };

  /// False if a device has failed and all responses must be refitted on the CPU.
  [[nodiscard]] bool fit_all() {
    if (outputs_.hold_texts) add_texts();
    std::int64_t begin = take_from_checkpoint();
    const std::int64_t size = batch_size();
    for (const auto count = std::ssize(names_); begin < count; begin += size) {
      fit_batch({begin, std::min(begin + size, count)});
      if (options_.require_one_kind && any_on_device_ && !use_devices_) return false;
    }
    return true;
  }
  void start_over() {
    observer_.note("all responses are fitted again on the CPU");
    open_outputs();
    batches_.clear();
    summary_.by_status.clear();
    any_on_device_ = false;
    if (checkpoint_) checkpoint_->start_over(use_devices_);
  }

  void open_outputs() {
    fits_ = outputs_.make_fits();
    if (outputs_.make_tests) tests_ = outputs_.make_tests();
  }
  void add_texts() {
    fits_->add_texts(std::array{NewText{"formula", model_.formula.substr(model_.formula.find('~'))},
                                NewText{"family", std::string(options_.family.name())},
                                NewText{"weights", options_.weights}, NewText{"criterion", "REML"},
                                NewText{"tessera", tessera::version()},
                                NewText{ManyDatasets::model, model_text(model_), NewText::As::dataset}});
  }
  void commit() {
    bool is_safe = true;
    for (TableOutput* const one : {fits_.get(), tests_.get()}) {
      if (one == nullptr) continue;
      if (const std::string problem = one->commit(); !problem.empty()) {
        is_safe = false;
        observer_.note(problem);
      }
    }
    const int safe = job_.comm().allreduce(is_safe ? 1 : 0, mpi::Reduction::min);
    if (checkpoint_ && safe != 0) checkpoint_->remove();
  }

  void prepare(const FormulaTerms& formula) {
    PhaseClock clock(job_.comm(), summary_.phases, "design", "the model matrix");
    observer_.now("setting up the model");
    together(job_.comm(), [&] {
      const TableSource source = source_of(covariates_);
      const auto table = open_source(alone_, source, job_.options().stop);
      std::vector<Expression> variables = formula.variables();
      std::erase_if(variables, [&](const Expression& one) { return one.text == formula.response.text; });
      refuse_covariates_by_response(alone_, *table, responses_, variables);
      design_.emplace(make_shared_design(alone_, *table, source.options, design_request(formula, options_)));
      estimator_ = estimator_of(options_, design_->rows);
      open_matrices(*table, source.options);
      model_ = shared_model(*design_, formula, options_);
      name_column_.emplace(names_);
      results_.emplace(*design_, model_, estimator_, options_);
      fitters_.emplace(*design_, estimator_);
      if (!options_.drop.empty() && estimator_.family == ManyFamily::nb && !estimator_.theta)
        throw base::usage_error(
            "drop: deviances of fits with different theta cannot be compared: fix theta, as in the family "
            "nb(theta=3)");
      for (const std::string& term : options_.drop)
        reduced_.emplace_back(make_shared_design(alone_, *table, source.options,
                                                 design_request(without_term(formula, term), options_)),
                              estimator_);
    });
    for (const ResponseReader& reader : readers_) reader.source().prepare(job_, options_.memory);
    choose_devices();
    observer_.note(fmt::format("{} of {} rows, {} coefficients, {}", design_->rows, design_->table_rows,
                               design_->columns, base::pluralised(names_.size(), "response")));
    if (!design_->undetermined.empty())
      observer_.note(fmt::format("dropped, linearly dependent on other terms: {}",
                                 base::pluralised(design_->undetermined.size(), "unpenalised function")));
    observer_.note(how_matched_);
  }

  void open_matrices(TableReader& covariates, const TableOptions& options) {
    const std::string key = responses_.key.empty() ? covariates.row_names() : responses_.key;
    std::vector<std::string> row_names;
    const auto open = [&](const Responses& responses) {
      std::unique_ptr<ResponseSource> source = open_responses(alone_, responses, design_->table_rows);
      // Without a key, rows are matched by name if covariates and matrix are in different AnnData files.
      const bool by_name =
          !responses_.key.empty() || (!key.empty() && !source->row_names().empty() &&
                                      !name_of(responses).starts_with(covariates.name() + ":/"));
      if (by_name && row_names.empty()) row_names = names_of_rows(alone_, covariates, options, key);
      readers_.emplace_back(std::move(source), name_of(responses),
                            by_name ? row_names : std::vector<std::string>());
      return by_name;
    };
    how_matched_ = open(responses_)
                       ? fmt::format("rows of the responses are matched by their names in '{}'", key)
                       : "rows of the responses are matched to the covariates by position";
    choose_responses();
    const auto open_beside = [&](const std::string& path, const std::optional<ResponseMatrix>& matrix) {
      if (path.empty() && !matrix) return false;
      open({.path = path, .in = responses_.in, .matrix = matrix, .key = responses_.key});
      readers_.back().choose_as(readers_.front());
      return true;
    };
    has_weights_ = open_beside(responses_.weights, responses_.weights_matrix);
    (void)open_beside(responses_.offsets, responses_.offsets_matrix);
  }

  /// Uses devices unless the CPU is estimated to be faster. The CPU always fits gaussian responses, which
  /// need few passes, quasi families (no kernel for their scale), and designs of too many parameters.
  void choose_devices() {
    if (job_.on_host() || estimator_.family == ManyFamily::gaussian || estimator_.quasi ||
        LikelihoodLayout(*design_).parameters > most_parameters)
      return;
    const auto estimate = estimate_to_choose_by(
        job_, [&] { return likelihood_kernel_source(LikelihoodLayout(*design_), estimator_.family); },
        [&](const Hardware& hardware) { return cost_of(*design_, std::ssize(names_), hardware); });
    if (estimate && estimate->host_seconds <= estimate->device_seconds) {
      observer_.note("using the CPU: " + reason_for_host(*estimate, job_.inventory().gpus()));
      return;
    }
    device_.emplace(*design_, estimator_.family, readers_.size() > 1);
    use_devices_ = true;
    if (!begins_on_real_devices(job_, job_.plan(std::ssize(names_)))) return;
    observer_.now("compiling the kernels");
    (void)job_.compile(device_->source());
  }

  void open_checkpoint(const FormulaTerms& formula) {
    if (options_.checkpoint.empty()) return;
    if (!covariates_.in_files() || responses_.path.empty() || responses_.weights_matrix ||
        responses_.offsets_matrix)
      throw base::usage_error("a checkpoint needs covariates and responses in files: leave it out");
    checkpoint_.emplace(job_.comm(), options_.checkpoint, fingerprint(formula), hardware_of(job_),
                        results_->row_size(), observer_);
    use_devices_ = use_devices_ && checkpoint_->uses_devices();
  }

  /// Fingerprint of all inputs of the results. Complete on rank 0 only.
  [[nodiscard]] Fingerprint fingerprint(const FormulaTerms& formula) const {
    FitOptions fit;
    fit.family = options_.family;
    fit.weights = options_.weights;
    fit.knots = options_.knots;
    std::optional<files::FileState> looked_at;
    Fingerprint print = fingerprint_of({job_.comm(), job_.host_team()}, covariates_, formula, fit, looked_at);
    together(job_.comm(), [&] {
      if (job_.comm().rank() != 0) return;
      std::string chosen;
      for (const std::string& name : names_) chosen += name + '\n';
      print.insert(print.end(), {{"responses", responses_.path},
                                 {"names of the responses", base::hex(base::fnv1a(chosen))},
                                 {"least rows", std::to_string(estimator_.least_rows)},
                                 {"covariances", options_.covariances ? "true" : "false"},
                                 {"drop", fmt::format("{}", fmt::join(options_.drop, ","))},
                                 {"tests", tests_ ? "true" : "false"},
                                 {"weights of the responses", responses_.weights},
                                 {"offsets of the responses", responses_.offsets},
                                 {"key", responses_.key},
                                 {"require-one-kind", options_.require_one_kind ? "true" : "false"}});
      for (const auto& [what, path] :
           {std::pair("the responses", responses_.path), std::pair("their weights", responses_.weights),
            std::pair("their offsets", responses_.offsets)}) {
        if (!path.empty()) add_identity(print, what, list_files({path.substr(0, path.rfind(":/"))}));
      }
    });
    return print;
  }

  /// Outputs the results in the checkpoint. Returns the index of the first response without results.
  [[nodiscard]] std::int64_t take_from_checkpoint() {
    if (!checkpoint_) return 0;
    const std::vector<Range> kept = checkpoint_->batches();
    if (checkpoint_->kept() > std::ssize(names_))
      throw base::input_error(
          "the checkpoint {} has results of {} responses, but only {} are given: remove the checkpoint",
          options_.checkpoint, checkpoint_->kept(), names_.size());
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const auto numbers = checkpoint_->read(i);
      if (!numbers) break;
      batches_.push_back({job_.plan_for_hosts(kept[i].size()), kept[i], {}});
      const Range mine = job_.local_range(batches_.back().plan);
      std::vector<ResponseRow> rows;
      const std::size_t size = results_->row_size();
      together(job_.comm(), [&] {
        for (std::int64_t row = mine.begin; row < mine.end; ++row)
          rows.push_back(results_->row_from(std::span(*numbers).subspan(at(row) * size, size)));
      });
      write(rows, batches_.back());
    }
    if (checkpoint_->kept() > 0)
      observer_.note(fmt::format("resuming after {} of {} from {}", checkpoint_->kept(),
                                 base::pluralised(names_.size(), "response"), options_.checkpoint));
    return checkpoint_->kept();
  }
  void keep(std::span<const ResponseRow> rows, const Batch& batch) {
    if (!checkpoint_) return;
    std::vector<double> numbers;
    for (const ResponseRow& row : rows) {
      const std::vector<double> one = results_->numbers_of(row);
      numbers.insert(numbers.end(), one.begin(), one.end());
    }
    checkpoint_->keep(batch.responses, batch.plan, numbers, use_devices_);
  }
  [[noreturn]] void stop() const {
    StopRequest& request = *job_.options().stop;
    static_cast<void>(request.agree());
    if (!checkpoint_)
      throw Error(ErrorCode::interrupted,
                  fmt::format("stopped by {}; with a checkpoint file the same fits could be resumed",
                              request.cause()));
    throw Error(
        ErrorCode::interrupted,
        fmt::format("stopped by {} after {} of {}: the same command resumes from {}", request.cause(),
                    checkpoint_->kept(), base::pluralised(names_.size(), "response"), options_.checkpoint));
  }

  void choose_responses() {
    const std::vector<std::string>& names = readers_.front().source().names();
    const std::set<std::string> only = names_in(responses_.subset);
    std::set<std::string> missing = only;
    for (std::size_t i = 0; i < names.size(); ++i) {
      missing.erase(names[i]);
      if (!responses_.subset.empty() && !only.contains(names[i])) continue;
      readers_.front().chosen.push_back(static_cast<std::int64_t>(i));
      names_.push_back(names[i]);
    }
    if (!missing.empty())
      throw base::usage_error("{}: has no response '{}'{}", name_of(responses_), *missing.begin(),
                              base::names_like(names, *missing.begin()));
    const auto all = std::ssize(names_);
    if (responses_.sample > 0 && responses_.sample < all) {
      std::vector<std::int32_t> drawn =
          base::RRandom(responses_.seed).sample(static_cast<std::int32_t>(all), responses_.sample);
      std::ranges::sort(drawn);
      std::vector<std::int64_t> chosen;
      std::vector<std::string> drawn_names;
      for (const std::int32_t i : drawn) {
        chosen.push_back(readers_.front().chosen[at(i)]);
        drawn_names.push_back(std::move(names_[at(i)]));
      }
      readers_.front().chosen = std::move(chosen);
      names_ = std::move(drawn_names);
    }
    if (names_.empty()) throw base::input_error("{}: has no response: give one or more", name_of(responses_));
  }

  [[nodiscard]] std::int64_t batch_size() const {
    const auto count = std::ssize(names_);
    const std::int64_t ranks = job_.comm().size();
    const std::int64_t bytes = 8 * std::max<std::int64_t>(1, design_->table_rows) * std::ssize(readers_);
    const std::int64_t in_memory =
        ranks * std::max<std::int64_t>(1, (device_ ? bytes_of_device_batch : bytes_of_batch) / bytes);
    const std::int64_t for_progress = (count - 1) / least_batches + 1;
    std::int64_t least =
        device_ ? 4 * static_cast<std::int64_t>(responses_on_device) * std::max(1, job_.inventory().gpus())
                : std::int64_t{64} * ranks;
    // Two ranks or batches should rarely share a chunk of the file, because each reads the whole chunk.
    for (const ResponseReader& reader : readers_)
      least = std::max(least, 4 * reader.source().stored_together() * ranks);
    return std::min({std::max(for_progress, least), in_memory, count});
  }

  /// Fits a batch, divided among ranks and devices by the job's plan.
  void fit_batch(Range batch) {
    observer_.now(fmt::format("responses {} to {} of {}", batch.begin + 1, batch.end, names_.size()));
    const bool on_devices = use_devices_ && !job_.on_host();
    batches_.push_back({on_devices ? job_.plan(batch.size()) : job_.plan_for_hosts(batch.size()), batch, {}});
    const Plan& plan = batches_.back().plan;
    const Range mine = job_.local_range(plan);
    read({batch.begin + mine.begin, batch.begin + mine.end});
    std::vector<ResponseRow> rows;
    {
      PhaseClock clock(job_.comm(), summary_.phases, "fit", "the fits of the responses");
      std::vector<std::int64_t> indices(at(mine.size()));
      std::iota(indices.begin(), indices.end(), 0);
      const auto on_host = [&](const HostTile& /*tile*/, std::span<const std::int64_t> some,
                               std::span<ResponseRow> out) {
        auto fitter = fitters_->take();
        for (std::size_t i = 0; i < some.size(); ++i) out[i] = fit_one(*fitter, mine, some[i]);
        fitters_->give_back(std::move(fitter));
      };
      const auto on_device = [&](Tile& tile, std::span<const std::int64_t> some, std::span<ResponseRow> out) {
        std::atomic<std::size_t> next = 0;
        device_->run(tile, threads_of_device(), std::min(some.size(), responses_on_device),
                     [&](std::unique_ptr<LikelihoodSums> sums) {
                       ResponseFitter fitter(*design_, estimator_, std::move(sums));
                       for (std::size_t i = next++; i < some.size(); i = next++) {
                         out[i] = fit_one(fitter, mine, some[i]);
                         out[i].on_device = true;
                       }
                     });
      };
      rows = on_devices ? job_.map<ResponseRow>(plan, indices, on_device, on_host)
                        : job_.map<ResponseRow>(plan, indices, host_only, on_host);
    }
    // Throws here, the same error on every rank, because an exception in `map` would be a fault of the job.
    together(job_.comm(), [&] {
      if (fault_) throw Error(ErrorCode::input, fault_->second);
    });
    if (on_devices) {
      use_devices_ = job_.last_verdict().ran == Verdict::Ran::devices;
      if (!use_devices_) observer_.note(to_string(job_.last_verdict()));
      any_on_device_ = any_on_device_ || use_devices_;
    }
    write(rows, batches_.back());
    keep(rows, batches_.back());
  }

  [[nodiscard]] ResponseRow fit_one(ResponseFitter& fitter, Range mine, std::int64_t index) {
    try {
      std::array<std::span<const double>, 3> columns;
      for (std::size_t i = 0; i < values_.size(); ++i)
        columns[i + (i == 1 && !has_weights_ ? 1 : 0)] = values_[i].of(index);
      const RowAdjustments own{.weights = columns[1], .offsets = columns[2]};
      const ResponseFit fit = fitter.fit(columns[0], own);
      std::vector<double> deviances;
      for (ReducedModel& reduced : reduced_) {
        if (fit.is_fitted()) deviances.push_back(reduced.deviance(columns[0], own));
      }
      return results_->row_of(fit, tests_ != nullptr, deviances);
    } catch (const Error& error) {
      const std::int64_t response = batches_.back().responses.begin + mine.begin + index;
      const std::scoped_lock lock(fault_mutex_);
      if (!fault_ || response < fault_->first)
        fault_.emplace(response,
                       fmt::format("{}: response '{}', {}{}", name_of(responses_), names_[at(response)],
                                   error.what(), hint_of(values_[0].of(index))));
      return {};
    }
  }

  /// Hint in an error message if counts are expected but the response has other values: X of AnnData is often
  /// log-normalised, with the counts in a layer. Empty if the hint does not apply.
  [[nodiscard]] std::string hint_of(std::span<const double> response) const {
    const auto colon = responses_.path.rfind(":/");
    const bool of_counts = estimator_.family == ManyFamily::nb || estimator_.family == ManyFamily::poisson;
    const auto is_no_count = [](double y) { return y < 0 || std::isinf(y) || y - std::floor(y) > 0; };
    if (colon == std::string::npos || !of_counts || std::ranges::none_of(response, is_no_count)) return {};
    return fmt::format("; if this matrix is normalised, name the matrix of counts, such as {}:/layers/counts",
                       responses_.path.substr(0, colon));
  }

  [[nodiscard]] std::size_t threads_of_device() {
    return at(std::max(1, job_.threads() / std::max(1, static_cast<int>(job_.devices().size()))));
  }

  /// Reads the chosen responses `some` from each reader.
  void read(Range some) {
    PhaseClock clock(job_.comm(), summary_.phases, "read", "the reading of the responses");
    values_.resize(readers_.size());
    together(job_.comm(), [&] {
      for (std::size_t i = 0; i < readers_.size(); ++i)
        readers_[i].read(
            some, design_->table_rows, [&] { stop_if_asked(job_.options().stop); }, values_[i]);
    });
  }

  void write(std::span<const ResponseRow> rows, Batch& batch) {
    PhaseClock clock(job_.comm(), summary_.phases, "write", "the writing of the results");
    const Range mine = job_.local_range(batch.plan);
    const Range written{batch.responses.begin + mine.begin, batch.responses.begin + mine.end};
    const std::vector<OutputMatrix> matrices = results_->matrices(rows);
    name_column_->write_with(written, results_->columns(rows), [&](std::span<const OutputColumn> columns) {
      fits_->add({.plan = batch.plan,
                  .first_row = batch.responses.begin,
                  .table_rows = std::ssize(names_),
                  .columns = columns,
                  .matrices = matrices});
    });
    batch.p_values.assign(results_->tests().size(), {});
    // Number of responses by status; last element: number of responses fitted on devices.
    std::vector<std::int64_t> counts(status_names.size() + 1);
    for (const ResponseRow& row : rows) {
      ++counts[at(static_cast<int>(row.status))];
      if (row.on_device) ++counts.back();
      for (std::size_t t = 0; t < batch.p_values.size(); ++t) batch.p_values[t].push_back(row.p_values[t]);
    }
    job_.comm().allreduce(std::span(counts), mpi::Reduction::sum);
    any_on_device_ = any_on_device_ || counts.back() > 0;
    for (std::size_t i = 0; i < status_names.size(); ++i) {
      if (counts[i] > 0) summary_.by_status[std::string(status_names[i])] += counts[i];
    }
  }

  /// Gathers the p values of all responses on every rank, for the false discovery rates.
  void write_tests() {
    if (!tests_) return;
    PhaseClock clock(job_.comm(), summary_.phases, "tests", "the tests");
    const std::vector<std::string>& names = results_->tests();
    std::vector<std::vector<double>> p_values(names.size());
    for (std::size_t t = 0; t < names.size(); ++t) {
      for (const Batch& batch : batches_) {
        const std::vector<double> all = job_.comm().allgatherv(std::span<const double>(batch.p_values[t]));
        p_values[t].insert(p_values[t].end(), all.begin(), all.end());
      }
    }
    std::vector<std::vector<double>> rates;
    for (const std::vector<double>& one : p_values) rates.push_back(false_discovery_rates(one));
    for (const Batch& batch : batches_) {
      const Range mine = job_.local_range(batch.plan);
      const auto first = batch.responses.begin + mine.begin;
      const auto count = at(mine.size());
      std::vector<OutputColumn> columns;
      for (std::size_t t = 0; t < names.size(); ++t) {
        columns.push_back(number_column("p:" + names[t], std::span(p_values[t]).subspan(at(first), count)));
        columns.push_back(number_column("q:" + names[t], std::span(rates[t]).subspan(at(first), count)));
      }
      name_column_->write_with({first, first + mine.size()}, std::move(columns),
                               [&](std::span<const OutputColumn> with_names) {
                                 tests_->add({.plan = batch.plan,
                                              .first_row = batch.responses.begin,
                                              .table_rows = std::ssize(names_),
                                              .columns = with_names});
                               });
    }
    for (std::size_t t = 0; t < names.size(); ++t) {
      const auto tested = std::ranges::count_if(p_values[t], [](double p) { return !std::isnan(p); });
      observer_.note(
          fmt::format("{}: p values are computed for {}", names[t], base::pluralised(tested, "response")));
    }
  }

  Job& job_;
  const Table& covariates_;
  const Responses& responses_;
  const ManyOptions& options_;
  TablesOfResults outputs_;
  FitObserver& observer_;
  mpi::Communicator serial_ = mpi::Communicator::serial();
  Workers alone_{serial_, job_.host_team()};
  std::unique_ptr<TableOutput> fits_, tests_;
  std::optional<SharedDesign> design_;
  std::optional<DeviceLikelihood> device_;
  ManyEstimator estimator_;
  FittedModel model_;
  std::optional<ResponseResults> results_;
  std::optional<NameColumn> name_column_;
  std::vector<ResponseReader> readers_;  ///< of the responses; then of weights and of offsets, if given
  std::vector<ResponseValues> values_;   ///< of the current batch, by reader
  std::vector<std::string> names_;       ///< of the responses to fit
  std::string how_matched_;              ///< how rows are matched to the covariates, for a note
  bool has_weights_ = false;             ///< the second reader is of weights, not of offsets
  std::optional<ManyCheckpoint> checkpoint_;
  bool use_devices_ = false;    ///< devices were chosen, and none has failed
  bool any_on_device_ = false;  ///< a response was fitted on a device
  std::mutex fault_mutex_;
  /// Index and message of the first invalid response.
  std::optional<std::pair<std::int64_t, std::string>> fault_;
  std::optional<FitterPool> fitters_;
  std::deque<ReducedModel> reduced_;  ///< one for each term of `ManyOptions::drop`
  std::vector<Batch> batches_;
  ManySummary summary_;
};

}  // namespace

ManySummary fit_many(Job& job, const std::string& formula, const Table& covariates,
                     const Responses& responses, const ManyOptions& options, const ManyOutputs& outputs,
                     FitObserver* observer) {
  FitObserver silent;
  const auto output = [&](const std::string& path) {
    return TableOutput::make(job.comm(), path, output_format_of(path).value_or(OutputFormat::csv));
  };
  TablesOfResults tables{.make_fits = [&] { return output(outputs.fits); },
                         .hold_matrices = holds_matrices(outputs.fits),
                         .hold_texts = holds_matrices(outputs.fits)};
  if (!outputs.tests.empty()) tables.make_tests = [&] { return output(outputs.tests); };
  return ManyFit(job, covariates, responses, options, std::move(tables),
                 observer != nullptr ? *observer : silent)
      .run(terms_of_many(formula, options));
}

ManyResults fit_many(Job& job, const std::string& formula, const Table& covariates,
                     const Responses& responses, const ManyOptions& options, FitObserver* observer) {
  FitObserver silent;
  ManyResults results;
  const auto gathered = [&](std::vector<Table::Column>& columns, std::map<std::string, Matrix>* matrices) {
    columns.clear();
    return std::make_unique<GatheredColumns>(job.comm(), columns, matrices);
  };
  std::map<std::string, Matrix>* const matrices = options.covariances ? &results.matrices : nullptr;
  ManyFit fit(job, covariates, responses, options,
              {.make_fits = [&] { return gathered(results.fits, matrices); },
               .make_tests = [&] { return gathered(results.tests, nullptr); },
               .hold_matrices = true},
              observer != nullptr ? *observer : silent);
  results.summary = fit.run(terms_of_many(formula, options));
  if (options.covariances) results.shared.emplace(std::make_shared<const FittedModel>(fit.take_model()));
  return results;
}

}  // namespace TESSERA_NAMESPACE::gam
