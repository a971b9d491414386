// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdint>

namespace tessera::apps {

/// What is given in seconds, rounded up: no time that is not 0 becomes 0.
[[nodiscard]] inline std::chrono::milliseconds from_seconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(1000 * seconds)));
}

/// `--collective-timeout SECONDS`, the same in every program that starts a job.
struct CollectiveTimeout {
  double seconds = 1800;

  void add_to(CLI::App& app) {
    app.add_option("--collective-timeout", seconds,
                   "End the job, naming ranks that keep the others waiting for so many seconds; 0: never")
        ->check(CLI::Range(0.0, 1e9))
        ->capture_default_str();
  }
  [[nodiscard]] std::chrono::milliseconds value() const { return from_seconds(seconds); }
};

}  // namespace tessera::apps
