// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measurement.hpp"

#include <tessera/job/job.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {  // its header takes seconds to compile
class App;
class Validator;
}  // namespace CLI

/// A suite measures one part of Tessera. To add a suite, write a file `NAME_suite.cpp` with a function
/// `Suite NAME_suite()`; add the file to CMakeLists.txt, and the function to this file and to main.cpp.
namespace tessera::bench {

struct SuiteOptions {
  /// Measured runs of each case, after a warm-up, at least 1; empty: the suite's choice.
  std::optional<int> repeats;
  Policy policy = Policy::automatic;
  int threads = 0;  ///< host threads of a rank; 0: chosen by `choose_threads`
  std::chrono::milliseconds collective_timeout = JobOptions{}.collective_timeout;
};

struct Suite {
  std::string name;  ///< the name on the command line
  std::string description;
  /// *Collective.* Measures over the ranks of `comm`. Only the result of rank 0 is printed. An `Error` must
  /// be thrown on every rank, as by `tessera::together`.
  std::function<std::vector<Measurement>(const mpi::Communicator& comm, const SuiteOptions& options)> run;
  /// Adds the suite's own options; may be empty. `run` owns the variables that the options set.
  std::function<void(CLI::App& command)> add_options;
};

[[nodiscard]] Suite fit_suite();
[[nodiscard]] Suite predict_suite();
[[nodiscard]] Suite scale_suite();
[[nodiscard]] Suite io_suite();
[[nodiscard]] Suite start_suite();
[[nodiscard]] Suite balance_suite();

/// Validator of an integer; its message is one line with the valid range.
[[nodiscard]] CLI::Validator from_to(std::int64_t least, std::int64_t most);

/// Adds `--rows` and `--models`, which select the simulated tables of a suite (see `SimulatedModel`).
void add_options_of_models(CLI::App& command, std::int64_t& rows, std::vector<std::string>& models);

/// Validator of names of simulated models, and the help text that lists the names.
[[nodiscard]] CLI::Validator one_of_models();
[[nodiscard]] std::string models_text();

[[nodiscard]] JobOptions job_options(const SuiteOptions& options);

/// The values of one case, by measured quantity, in order of first appearance.
class Case {
 public:
  Case(std::string suite, std::string name) : suite_(std::move(suite)), name_(std::move(name)) {}

  Measurement& operator()(const std::string& what, const std::string& unit);
  /// Adds median(`ours`) / median(`theirs`) as the quantity `what`.
  void add_ratio(const std::string& what, const std::string& ours, const std::string& theirs);
  [[nodiscard]] std::vector<Measurement> take() { return std::move(measurements_); }

 private:
  std::string suite_;
  std::string name_;
  std::vector<Measurement> measurements_;
};

/// *Collective.* Calls `work` on the first `ranks` ranks while the other ranks sleep. Exceptions of `work`
/// are thrown on all ranks.
void on_first_ranks(const mpi::Communicator& comm, int ranks, const std::function<void()>& work);

/// *Collective.* Sum of the host threads over all ranks.
[[nodiscard]] int threads_of_all(const Job& job);

/// Prints one line to standard error on rank 0.
void note(const mpi::Communicator& comm, const std::string& suite, const std::string& text);

/// Makes a `Suite::run` that calls `measure(job, chosen)` in a new job. `chosen` holds the suite's options;
/// the common `--repeats` overrides its own. Notes the job's verdict.
template <class Chosen, class Measure>
[[nodiscard]] auto in_a_job(const std::string& name, std::shared_ptr<Chosen> chosen, Measure measure) {
  return [=](const mpi::Communicator& comm, const SuiteOptions& options) {
    Chosen suite = *chosen;
    suite.repeats = options.repeats.value_or(suite.repeats);
    Job job(comm, job_options(options));
    auto measurements = measure(job, suite);
    note(comm, name, to_string(job.last_verdict()));
    return measurements;
  };
}

}  // namespace tessera::bench
