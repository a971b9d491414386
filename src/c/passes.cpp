// SPDX-License-Identifier: Apache-2.0
#include "c/handles.hpp"

#include "job/job_access.hpp"

#include <tessera/error.hpp>

#include <algorithm>
#include <cstring>
#include <memory>

namespace tessera::c {
namespace {

using Access = tessera::detail::JobAccess;

/// A device function that fails without a reason of its own fails its tile with this one.
void check_device_function(Tile& tile, int returned) {
  if (returned != 0) tile.fail("the device function returned " + std::to_string(returned));
}

void check_host_function(const HostTile& tile, int returned) {
  if (returned != 0)
    throw Error(ErrorCode::job_fault, "the host function returned " + std::to_string(returned) +
                                          " for the units from " + std::to_string(tile.range.begin));
}

tessera_host_tile described(const HostTile& tile) {
  return {range_of(tile.range), tile.thread, tile.threads};
}

/// The units of this rank in a pass, `unit_bytes` each.
struct LocalUnits {
  std::byte* data;
  std::size_t unit_bytes;
  std::int64_t count;
  std::int64_t first = 0;

  [[nodiscard]] void* at(std::int64_t unit) const {
    return data + static_cast<std::size_t>(unit - first) * unit_bytes;
  }
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(count) * unit_bytes; }
};

}  // namespace
}  // namespace tessera::c

using tessera::c::require;
using tessera::c::status_of;

int tessera_scatter(tessera_job* job, const tessera_plan* plan, void* units, int64_t count, size_t unit_bytes,
                    size_t device_bytes_per_unit, tessera_device_function on_device,
                    tessera_host_function on_host, void* context) {
  using namespace tessera;
  return status_of([&] {
    require(job, "tessera_scatter", "job");
    require(plan, "tessera_scatter", "plan");
    const c::Access::Call call = c::Access::call_of("scatter", unit_bytes);
    c::LocalUnits mine{static_cast<std::byte*>(units), unit_bytes, count};
    std::unique_ptr<std::byte[]> untouched;
    c::Access::run(job->job, plan->plan,
                   {.call = &call,
                    .has_functions = on_host != nullptr,
                    .host_only = on_device == nullptr,
                    .local_units = count,
                    .device_bytes_per_unit = static_cast<std::int64_t>(device_bytes_per_unit),
                    .prepare =
                        [&] {
                          if (count > 0) require(units, "tessera_scatter", "units");
                          mine.first = plan->plan.range_of(plan->rank).begin;
                          if (on_device == nullptr || !c::Access::runs_on_devices(job->job, plan->plan))
                            return;
                          untouched = std::make_unique_for_overwrite<std::byte[]>(mine.bytes());
                          std::copy_n(mine.data, mine.bytes(), untouched.get());
                        },
                    .on_device =
                        [&](Tile& tile) {
                          c::check_device_function(
                              tile, on_device(c::handle_of(tile), mine.at(tile.range().begin), context));
                        },
                    .on_host =
                        [&](const HostTile& tile) {
                          const tessera_host_tile given = c::described(tile);
                          c::check_host_function(tile, on_host(&given, mine.at(tile.range.begin), context));
                        },
                    .restore = [&] { std::copy_n(untouched.get(), mine.bytes(), mine.data); }});
  });
}

int tessera_reduce(tessera_job* job, const tessera_plan* plan, size_t width, size_t device_bytes_per_unit,
                   tessera_device_reduction on_device, tessera_host_reduction on_host, void* context,
                   double* result) {
  using namespace tessera;
  return status_of([&] {
    require(job, "tessera_reduce", "job");
    require(plan, "tessera_reduce", "plan");
    FunctionRef<void(const HostTile&, std::span<double>)> host;
    const auto call_host = [&](const HostTile& tile, std::span<double> partial) {
      const tessera_host_tile given = c::described(tile);
      c::check_host_function(tile, on_host(&given, partial.data(), context));
    };
    if (on_host != nullptr) host = call_host;
    const std::vector<double> sums =
        on_device == nullptr
            ? job->job.reduce(plan->plan, width, host_only, host)
            : job->job.reduce(
                  plan->plan, width,
                  [&](Tile& tile, ReproducibleSum& sum) {
                    c::check_device_function(tile, on_device(c::handle_of(tile), c::handle_of(sum), context));
                  },
                  host, static_cast<std::int64_t>(device_bytes_per_unit));
    require(result, "tessera_reduce", "result");  // not before: the other ranks make the pass
    std::ranges::copy(sums, result);
  });
}

int tessera_sum_add(tessera_sum* sum, const double* block) {
  return status_of([&] {
    tessera::ReproducibleSum& total = tessera::c::sum_of(sum);
    total.add({block, total.width()});
  });
}
