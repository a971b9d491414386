// SPDX-License-Identifier: Apache-2.0
// Fits whose columns exceed memory use scratch files, and give the same model.
#include "support/fit_support.hpp"
#include "support/table_support.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <tessera/tessera.hpp>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

/// More rows than are read ahead at a time, on one rank.
constexpr std::int64_t spilled_rows = 300'000;
constexpr std::int64_t spilled_block = 1000;
/// Bytes of the columns y, x, log(z), f, z, whose typical value the model has, and the marks.
constexpr std::int64_t column_bytes = spilled_rows * (4 * sizeof(double) + sizeof(std::int32_t) + 1);
constexpr const char* spilled_formula = R"(y ~ f + log(z) + s(x, bs="cr", k=6))";

std::string spilled_csv() {
  std::string text = "y,x,z,f\n";
  for (std::int64_t i = 0; i < spilled_rows; ++i) {
    const auto covariate = [&](double step) { return std::fmod(static_cast<double>(i + 1) * step, 1.0); };
    const double x = covariate(0.6180339887498949);
    text +=
        fmt::format("{:.6g},{:.6g},{:.6g},{}\n", std::exp(std::sin(6 * x) + covariate(0.5698402909980532)), x,
                    1 + covariate(0.7548776662466927), "abc"[i % 3]);
  }
  return text;
}

/// Memory of this process that is not backed by a file.
std::int64_t anonymous_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return 1024 * std::stoll(line.substr(8));
  }
  return 0;
}

/// The notes, and the maximum memory at any message.
struct Watch : FitObserver {
  void now(std::string_view /*what*/) override { most = std::max(most, anonymous_bytes()); }
  void note(std::string_view what) override {
    notes += std::string(what) + "\n";
    most = std::max(most, anonymous_bytes());
  }
  std::string notes;
  std::int64_t most = 0;
};

class Spill : public ::testing::Test {
 protected:
  [[nodiscard]] FitResult fitted(std::optional<std::int64_t> memory, int threads = 1,
                                 FitObserver* observer = nullptr, FitOptions options = {}) const {
    Job job = cpu_job(comm_, threads);
    options.memory.node_bytes = memory;
    return fit(job, parse_formula(spilled_formula), in_blocks(file_.path(), spilled_block), options,
               observer);
  }

  mpi::Communicator comm_ = world();
  SharedFile file_{comm_, "data.csv", comm_.rank() == 0 ? spilled_csv() : std::string()};
};

// The first fit, and fits with more in memory each time: threads keep freed memory.
TEST_F(Spill, ColumnsInScratchFilesTakeNoMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory is no fit's";
#endif
  const auto growth = [&](std::optional<std::int64_t> memory) {
    const std::int64_t before = anonymous_bytes();
    Watch watch;
    static_cast<void>(fitted(memory, 1, &watch));
    return watch.most - before;
  };
  static_cast<void>(growth(0));  // memory that the process allocates once
  const std::int64_t mine = column_bytes / comm_.size();
  EXPECT_LT(growth(0), mine / 4);
  EXPECT_GT(growth({}), mine / 2);
}

TEST_F(Spill, GivesTheSameModelWhateverIsInMemory) {
  const FitResult in_memory = fitted({});
  EXPECT_EQ(in_memory.spilled_bytes, 0);
  EXPECT_EQ(in_memory.scratch, "");
  const std::string expected = text_of(comm_, in_memory.model);
  for (const std::int64_t memory : {std::int64_t{0}, column_bytes / 3, column_bytes - 1}) {
    for (const int threads : {1, 2}) {
      Watch watch;
      const FitResult result = fitted(memory, threads, &watch);
      EXPECT_EQ(text_of(comm_, result.model), expected) << memory << ", " << threads;
      EXPECT_GE(result.spilled_bytes, column_bytes - memory);
      EXPECT_EQ(result.spilled_bytes == column_bytes, memory == 0);
      EXPECT_FALSE(result.scratch.empty());
      EXPECT_NE(watch.notes.find(" GiB are in scratch files in " + result.scratch), std::string::npos)
          << watch.notes;
    }
  }
  EXPECT_EQ(fitted(column_bytes).spilled_bytes, 0);
}

TEST_F(Spill, GivesTheSameModelOfATableInMemory) {
  Job job = cpu_job(comm_);
  const Formula parsed = parse_formula(spilled_formula);
  const Table file = in_blocks(file_.path(), spilled_block);
  const Table table = read_table(job, file, parsed);
  FitOptions options;
  const std::string expected = text_of(comm_, fit(job, parsed, table, options).model);
  options.memory.node_bytes = 0;
  const FitResult result = fit(job, parsed, table, options);
  EXPECT_EQ(text_of(comm_, result.model), expected);
  // Numbers of the table are used in place.
  EXPECT_EQ(result.spilled_bytes,
            spilled_rows * static_cast<std::int64_t>(sizeof(double) + sizeof(std::int32_t) + 1));
}

TEST_F(Spill, GoesOnFromACheckpointThatWasInMemory) {
  FitOptions options{.family = family("gamma")};
  const std::string expected = text_of(comm_, fitted({}, 1, nullptr, options).model);
  const SharedFile state(comm_, "fit.ckpt");
  options.checkpoint = state.path();
  options.max_iterations = 2;
  EXPECT_FALSE(fitted({}, 1, nullptr, options).model.converged());
  options.max_iterations = 100;
  const FitResult resumed = fitted(0, 2, nullptr, options);
  EXPECT_TRUE(resumed.resumed_from.has_value());
  EXPECT_EQ(resumed.spilled_bytes, column_bytes);
  EXPECT_EQ(text_of(comm_, resumed.model), expected);
  resumed.checkpoint->remove();
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
