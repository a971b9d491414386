// SPDX-License-Identifier: Apache-2.0
#include "job/tile/host_pass.hpp"

#include "job/tile/checked_call.hpp"

#include <algorithm>

namespace TESSERA_NAMESPACE {
namespace {

/// Enough to balance units of different cost, few enough that calls cost little.
constexpr std::int64_t parts_per_thread = 16;

/// So many that a part takes about two seconds in a pass of ten minutes.
constexpr std::int64_t stoppable_parts_per_thread = 256;

std::int64_t units_of_a_part(std::int64_t units, std::int64_t block, std::int64_t parts) {
  const std::int64_t blocks = (units - 1) / block + 1;
  return std::max<std::int64_t>(1, blocks / parts) * block;
}

std::int64_t step_of(std::int64_t units, std::int64_t block, int threads, bool stoppable) {
  if (stoppable) return stoppable_step(units, block, threads);
  return threads == 1 ? units : units_of_a_part(units, block, threads * parts_per_thread);
}

}  // namespace

std::int64_t stoppable_step(std::int64_t units, std::int64_t block, int threads) noexcept {
  return units_of_a_part(units, block, threads * stoppable_parts_per_thread);
}

bool compute_on_host(Range range, std::int64_t block, HostTeam& team, FunctionRef<void(const HostTile&)> work,
                     const StopRequest* stop) {
  if (range.empty()) return true;
  const int threads = team.size();
  const std::int64_t step = step_of(range.size(), block, threads, stop != nullptr);
  return team.for_each_block(
      range, step,
      [&](int thread, Range part) {
        checked_call([&] { work({.range = part, .thread = thread, .threads = threads}); });
      },
      stop);
}

}  // namespace TESSERA_NAMESPACE
