// SPDX-License-Identifier: Apache-2.0
#include "workspace_suite.hpp"

#include "bench_devices.hpp"

#include <fmt/core.h>

#include <tessera/job/together.hpp>
#include <tessera/memory/workspace_pool.hpp>

namespace tessera::bench {
namespace {

std::vector<Measurement> run_workspace_suite(const mpi::Communicator& comm, const SuiteOptions& options) {
  BenchDevices devices(comm, options, "workspace");
  const int repeats = options.repeats.value_or(20);
  constexpr int calls = 20'000;
  std::vector<Measurement> all;
  for (const std::size_t mib : {1, 32}) {
    std::unique_ptr<WorkspacePool> pool;
    together(comm, [&] {
      if (devices.size() > 0) pool = std::make_unique<WorkspacePool>(devices.upstream(0));
    });
    all.push_back(in_microseconds({"workspace", fmt::format("take and return, {} MiB", mib), "tessera", "s",
                                   seconds_of(comm, repeats, calls, [&] {
                                     if (pool) (void)pool->take(mib << 20, devices.stream(0));
                                   })}));
  }
  return all;
}

}  // namespace

Suite workspace_suite() {
  return {"workspace", "The workspace pool: take and return", run_workspace_suite, {}};
}

}  // namespace tessera::bench
