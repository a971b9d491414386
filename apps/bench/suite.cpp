// SPDX-License-Identifier: Apache-2.0
#include "suite.hpp"

#include "simulated.hpp"

#include <tessera/job/together.hpp>

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <thread>

#include "base/number.hpp"
#include "files/standard_error.hpp"

namespace tessera::bench {
namespace {

/// A barrier in which waiting ranks sleep, so that other ranks can use their cores.
void wait_idly(const mpi::Communicator& comm) {
  if (comm.is_serial()) return;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(comm.native(), &request);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace

CLI::Validator from_to(std::int64_t least, std::int64_t most) {
  const auto complaint = [=](const std::string& text) {
    const auto value = base::parse_number<std::int64_t>(text);
    if (value && *value >= least && *value <= most) return std::string();
    return fmt::format("give a whole number from {} to {}, not '{}'", least, most, text);
  };
  return {complaint, fmt::format("[{} - {}]", least, most)};
}

void add_options_of_models(CLI::App& command, std::int64_t& rows, std::vector<std::string>& models) {
  command.add_option("--rows", rows, "Rows of the table")
      ->check(from_to(1, std::int64_t{1} << 40))
      ->capture_default_str();
  command.add_option("--models", models, models_text())
      ->delimiter(',')
      ->check(one_of_models())
      ->capture_default_str();
}

CLI::Validator one_of_models() {
  std::vector<std::string> names;
  for (const SimulatedModel& model : simulated_models()) names.push_back(model.name);
  return CLI::IsMember(std::move(names));
}

std::string models_text() {
  std::string text;
  for (const SimulatedModel& model : simulated_models())
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", model.name, model.description);
  return text;
}

JobOptions job_options(const SuiteOptions& options) {
  JobOptions job;
  job.policy = options.policy;
  job.threads = options.threads;
  job.collective_timeout = options.collective_timeout;
  return job;
}

Measurement& Case::operator()(const std::string& what, const std::string& unit) {
  for (Measurement& known : measurements_) {
    if (known.what == what) return known;
  }
  return measurements_.emplace_back(Measurement{suite_, name_, what, unit, {}});
}

void Case::add_ratio(const std::string& what, const std::string& ours, const std::string& theirs) {
  const double ratio = (*this)(ours, {}).median() / (*this)(theirs, {}).median();
  (*this)(what, "1").values = {ratio};
}

void on_first_ranks(const mpi::Communicator& comm, int ranks, const std::function<void()>& work) {
  std::exception_ptr failure;
  if (comm.rank() < ranks) {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  }
  wait_idly(comm);
  together(comm, [&] {
    if (failure) std::rethrow_exception(failure);
  });
}

int threads_of_all(const Job& job) {
  return static_cast<int>(
      job.comm().allreduce(static_cast<std::int64_t>(job.threads()), mpi::Reduction::sum));
}

void note(const mpi::Communicator& comm, const std::string& suite, const std::string& text) {
  if (comm.rank() == 0) files::say_line({"tessera-bench: ", suite, ": ", text});
}

}  // namespace tessera::bench
