// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/job.hpp>
#include <tessera/job/stop_request.hpp>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <string>

namespace tessera::apps {

/// Converts seconds to milliseconds, rounded up, so that only 0 s becomes 0 ms (no limit).
[[nodiscard]] inline std::chrono::milliseconds from_seconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(1000 * seconds)));
}

struct CollectiveTimeout {
  double seconds = std::chrono::duration<double>(JobOptions{}.collective_timeout).count();

  void add_to(CLI::App& app) {
    app.add_option(
           "--collective-timeout", seconds,
           "Seconds after which a collective call ends the job, naming the ranks that are missing; 0: never")
        ->check(CLI::Range(0.0, 1e9))
        ->capture_default_str();
  }
  [[nodiscard]] std::chrono::milliseconds value() const { return from_seconds(seconds); }
};

/// `--time-limit SECONDS`, and the signals that stop a command. The same command line resumes the command.
struct TimeLimit {
  double seconds = 0;

  void add_to(CLI::App& app) {
    app.add_option(
           "--time-limit", seconds,
           "Seconds after which the fit stops with status 75, as at SIGUSR1, SIGTERM or SIGINT; 0: no limit")
        ->check(CLI::Range(0.0, 1e9))
        ->capture_default_str();
  }
  [[nodiscard]] StopOptions stop_options() const {
    StopOptions options;
    // A shell starts the background commands of a script with SIGINT ignored: keep SIGINT ignored.
    struct sigaction now {};
    const bool ignored = sigaction(SIGINT, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
    if (!ignored) options.signals.push_back(SIGINT);
    options.time_limit = from_seconds(seconds);
    return options;
  }
};

struct DeviceArgument {
  std::string word = "auto";

  void add_to(CLI::App& app, const std::string& name = "--device") {
    app.add_option(name, word,
                   "auto: GPUs, unless the CPU is estimated to be faster; gpu: GPUs or an error; cpu")
        ->check(CLI::IsMember({"auto", "gpu", "cpu"}))
        ->capture_default_str();
  }
  [[nodiscard]] Policy policy() const {
    return word == "cpu" ? Policy::cpu : word == "gpu" ? Policy::gpu : Policy::automatic;
  }
};

struct DeviceFailureArgument {
  std::string word = "cpu";

  void add_to(CLI::App& app) {
    app.add_option(
           "--on-device-failure", word,
           "If a GPU fails: cpu: recompute all on the CPU; error: exit; exclude: continue on the others")
        ->check(CLI::IsMember({"cpu", "error", "exclude"}))
        ->capture_default_str();
  }
  [[nodiscard]] OnDeviceFailure action() const {
    return word == "error"     ? OnDeviceFailure::error
           : word == "exclude" ? OnDeviceFailure::exclude
                               : OnDeviceFailure::cpu;
  }
};

struct SharingArguments {
  std::string word = "throughput";
  bool allowed = false;

  void add_to(CLI::App& app) {
    app.add_option("--score-model", word, "How the speeds of GPUs are estimated")
        ->check(CLI::IsMember({"spec", "throughput"}))
        ->capture_default_str();
    app.add_flag("--allow-sharing", allowed, "Let ranks share a GPU if a node has more ranks than GPUs");
  }
  [[nodiscard]] ScoreModel score_model() const {
    return word == "spec" ? ScoreModel::spec : ScoreModel::throughput;
  }
};

}  // namespace tessera::apps
