// SPDX-License-Identifier: Apache-2.0
#include "gpu_job.hpp"

#include <tessera/error.hpp>
#include <tessera/job/stop_request.hpp>

#include <stdexcept>

namespace tessera::testing {
namespace {

/// The reaction of a device function to a stop request.
enum class Leaves { by_return, by_throw };

class GpuStops : public GpuJob, public ::testing::WithParamInterface<Leaves> {};

TEST_P(GpuStops, ALongPartThatAsksIsCutShortOnEveryRank) {
  StopRequest stop(comm_, {.signals = {}});
  JobOptions options;
  options.stop = &stop;
  job_.emplace(comm_, options);
  const Plan plan = job_->plan(1000 * comm_.size());
  auto units = local_units(*job_, plan);
  const auto untouched = units;
  const int asked = plan.tiles().back().rank;
  try {
    job_->scatter(
        plan, std::span(units),
        [&](Tile& tile, std::span<double> part) {
          EXPECT_FALSE(tile.told_to_stop());
          if (comm_.rank() == asked) stop.request("a test");
          // Would run until tomorrow without a request.
          while (!tile.stopping()) map_on_device(tile, part, part);
          EXPECT_TRUE(tile.told_to_stop());
          if (GetParam() == Leaves::by_throw) throw std::runtime_error("left");
        },
        [](const HostTile&, std::span<double>) { ADD_FAILURE() << "the job fell back"; });
    ADD_FAILURE() << "the pass was done";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::interrupted);
    EXPECT_EQ(std::string(error.what()), "stopped by a test on rank " + std::to_string(asked));
  }
  EXPECT_EQ(units, untouched);
  EXPECT_FALSE(job_->on_host());
}

INSTANTIATE_TEST_SUITE_P(Ways, GpuStops, ::testing::Values(Leaves::by_return, Leaves::by_throw),
                         [](const auto& test) {
                           return test.param == Leaves::by_return ? "Return" : "Throw";
                         });

}  // namespace
}  // namespace tessera::testing
