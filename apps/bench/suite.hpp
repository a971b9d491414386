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

namespace CLI {  // whose header takes seconds to compile
class App;
class Validator;
}  // namespace CLI

/// A suite measures one part of Tessera, and a peer beside it where there is one. To add one, write its file
/// `NAME_suite.cpp` with a function `Suite NAME_suite()`, and name it in CMakeLists.txt, here and in
/// suites.cpp, a line each.
namespace tessera::bench {

/// What every suite is given.
struct SuiteOptions {
  std::optional<int>
      repeats;  ///< runs of each thing after the warm-up, at least 1; empty: the suite's choice
  Policy policy = Policy::automatic;
  int threads = 0;   ///< host threads of a rank; 0: as many as it may use
  bool peer = true;  ///< measure the peer too
  std::chrono::milliseconds collective_timeout = JobOptions{}.collective_timeout;
};

struct Suite {
  std::string name;         ///< the word of the command line
  std::string description;  ///< one line
  /// *Collective.* Measures over the ranks of `comm`. Every rank returns; what rank 0 returns is printed. An
  /// `Error` must leave it on every rank, as `tessera::together` sees to.
  std::function<std::vector<Measurement>(const mpi::Communicator& comm, const SuiteOptions& options)> run;
  /// Adds options that are the suite's alone; may be empty. What they are bound to lives as long as `run`.
  std::function<void(CLI::App& command)> add_options;
};

[[nodiscard]] Suite vote_suite();
[[nodiscard]] Suite scatter_suite();
[[nodiscard]] Suite stream_suite();
[[nodiscard]] Suite gram_suite();
[[nodiscard]] Suite fit_suite();
[[nodiscard]] Suite predict_suite();
[[nodiscard]] Suite crossed_suite();
[[nodiscard]] Suite scale_suite();
[[nodiscard]] Suite io_suite();

/// Every suite of the program, in the order in which they run.
[[nodiscard]] std::vector<Suite> all_suites();

/// A check of a whole number, with one line that says what to give instead.
[[nodiscard]] CLI::Validator from_to(std::int64_t least, std::int64_t most);

/// `--rows` and `--models`: of which simulated tables a suite measures (see `SimulatedModel`).
void add_options_of_models(CLI::App& command, std::int64_t& rows, std::vector<std::string>& models);

/// The options of a job under which a suite measures.
[[nodiscard]] JobOptions job_options(const SuiteOptions& options);

/// Seconds that one call of `work` takes, one value a repeat after one that is not counted: each is the mean
/// of `calls` calls in a row, begun by all ranks together, of the slowest rank. *Collective.* An `Error` of
/// `work` on one rank is thrown on all.
[[nodiscard]] std::vector<double> seconds_of(const mpi::Communicator& comm, int repeats, int calls,
                                             const std::function<void()>& work);

/// The same figures, which are in seconds, in microseconds.
[[nodiscard]] Measurement in_microseconds(Measurement measured);

/// What `ours` took for each unit of what `theirs` took, by their medians.
[[nodiscard]] Measurement ratio_of(const Measurement& ours, const Measurement& theirs);

/// The values of one case, by what they measure, in the order in which they first come.
class Case {
 public:
  Case(std::string suite, std::string name) : suite_(std::move(suite)), name_(std::move(name)) {}

  Measurement& operator()(const std::string& what, const std::string& unit);
  [[nodiscard]] std::vector<Measurement> take() { return std::move(measurements_); }

 private:
  std::string suite_;
  std::string name_;
  std::vector<Measurement> measurements_;
};

/// *Collective.* Calls `work` on so many ranks while the others leave them their cores. What it throws is
/// thrown on all.
void on_first_ranks(const mpi::Communicator& comm, int ranks, const std::function<void()>& work);
/// The same on rank 0: for a peer in a child process.
inline void on_root_alone(const mpi::Communicator& comm, const std::function<void()>& work) {
  on_first_ranks(comm, 1, work);
}

/// Host threads of all ranks. *Collective.*
[[nodiscard]] int threads_of_all(const Job& job);

/// One line on standard error, from rank 0: what a suite leaves out, and why.
void note(const mpi::Communicator& comm, const std::string& suite, const std::string& text);

/// `Suite::run` of a suite that measures in one job: by `measure(job, chosen)`, `chosen` being what the
/// command line says of it, with its `repeats` and `peer` from the common options. Notes the job's verdict.
template <class Chosen, class Measure>
[[nodiscard]] auto in_a_job(const std::string& name, std::shared_ptr<Chosen> chosen, Measure measure) {
  return [=](const mpi::Communicator& comm, const SuiteOptions& options) {
    Chosen suite = *chosen;
    suite.repeats = options.repeats.value_or(suite.repeats);
    suite.peer = options.peer;
    Job job(comm, job_options(options));
    auto measurements = measure(job, suite);
    note(comm, name, to_string(job.last_verdict()));
    return measurements;
  };
}

}  // namespace tessera::bench
