// SPDX-License-Identifier: Apache-2.0
#include "job/state.hpp"

#include <tessera/error.hpp>

#include <algorithm>
#include <new>
#include <string>

namespace TESSERA_NAMESPACE {
namespace {

template <class Work>
void tell_no_memory(std::size_t width, Work&& work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::job_fault,
                "no memory for sums of " + std::to_string(width) + " numbers: use fewer threads or numbers");
  }
}

}  // namespace

const Job::Call& Job::plain_call() {
  static const Call call{.verb = "reduce", .types = "", .signature = 1};
  return call;
}

std::vector<double> Job::reduce(const Plan& plan, std::size_t width,
                                FunctionRef<void(Tile&, ReproducibleSum&)> on_device,
                                FunctionRef<void(const HostTile&, std::span<double>)> on_host,
                                std::int64_t device_bytes_per_unit) {
  return sum_blocks(plan, width, &on_device, on_host, device_bytes_per_unit, plain_call());
}

std::vector<double> Job::reduce(const Plan& plan, std::size_t width, HostOnly,
                                FunctionRef<void(const HostTile&, std::span<double>)> on_host) {
  return sum_blocks(plan, width, nullptr, on_host, 0, plain_call());
}

std::vector<double> Job::sum_blocks(const Plan& plan, std::size_t width,
                                    const FunctionRef<void(Tile&, ReproducibleSum&)>* on_device,
                                    FunctionRef<void(const HostTile&, std::span<double>)> on_host,
                                    std::int64_t device_bytes_per_unit, const Call& call,
                                    std::span<const detail::ArrayAccess> arrays) {
  const int lanes = state().most_lanes(device_bytes_per_unit, arrays);
  const int threads_of_tiles = state().pass_threads.all(lanes);
  std::vector<ReproducibleSum> sums;          // one for each lane of a GPU, or host thread, of this rank
  std::vector<std::vector<double>> partials;  // of each host thread's current block
  const auto begin = [&](int workers) {
    // At least one, as the sum over ranks needs it on a rank without a tile too. Constructed in place:
    // copying one of a large width would take longer than the pass.
    const auto count = static_cast<std::size_t>(std::max(workers, 1));
    tell_no_memory(width, [&] {
      sums.clear();
      sums.reserve(count);
      while (sums.size() < count) sums.emplace_back(width);
    });
    partials.resize(count);
  };
  const auto sum_of = [&](const Tile& tile) -> ReproducibleSum& {
    return sums[static_cast<std::size_t>(state().pass_threads.of_gpu(tile.device_index(), tile.lane()))];
  };
  const auto add_blocks = [&](const HostTile& tile) {
    auto& partial = partials[static_cast<std::size_t>(tile.thread)];
    for (HostTile one = tile; one.range.begin < tile.range.end; one.range.begin = one.range.end) {
      one.range.end = one.range.begin + std::min(plan.block(), tile.range.end - one.range.begin);
      partial.assign(width, 0.0);
      on_host(one, partial);
      sums[static_cast<std::size_t>(tile.thread)].add(partial);
    }
  };
  run(plan, {.call = &call,
             .has_functions = (on_device == nullptr || *on_device) && on_host,
             .host_only = on_device == nullptr,
             .local_units = std::nullopt,
             .width = static_cast<std::int64_t>(width),
             .max_blocks = ReproducibleSum::max_summands,
             .device_bytes_per_unit = device_bytes_per_unit,
             .prepare =
                 [&] { begin(on_device != nullptr && runs_on_devices(plan) ? threads_of_tiles : threads()); },
             .on_device = [&](Tile& tile) { (*on_device)(tile, sum_of(tile)); },
             .on_host = add_blocks,
             // For the remaining devices, or for the host threads.
             .restore = [&] { begin(std::max(threads_of_tiles, threads())); },
             .finish =
                 [&] {
                   for (std::size_t i = 1; i < sums.size(); ++i) sums.front().merge(sums[i]);
                   if (comm().size() > 1) tell_no_memory(width, [&] { sums.front().prepare_allreduce(); });
                 },
             .can_move = !arrays.empty(),
             .arrays = arrays});
  const std::string what = "the sum of " + state().pass_name();
  const mpi::Purpose purpose(comm(), what);
  try {
    sums.front().allreduce(comm());
  } catch (const std::exception& fault) {
    state().verdict = State::no_verdict(what + ": " + fault.what());
    throw;
  }
  return sums.front().values();
}

}  // namespace TESSERA_NAMESPACE
