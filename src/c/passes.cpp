// SPDX-License-Identifier: Apache-2.0
#include "c/callbacks.hpp"

#include <tessera/job/together.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <type_traits>

namespace tessera::c {
namespace {

std::size_t bytes_of(std::int64_t count, std::size_t unit_bytes) {
  return static_cast<std::size_t>(count) * unit_bytes;
}

/// Implements `tessera_map`, and `tessera_scatter`, whose functions compute in place and have no results.
template <class DeviceFn, class HostFn>
int run_units(tessera_job* job, const tessera_plan* plan, void* units, std::int64_t count,
              std::size_t unit_bytes, void* results, std::size_t result_bytes,
              std::size_t device_bytes_per_unit, DeviceFn* on_device, HostFn* on_host, void* context) {
  constexpr bool has_results = std::is_same_v<DeviceFn*, tessera_device_map>;
  constexpr const char* function = has_results ? "tessera_map" : "tessera_scatter";
  return status_of([&] {
    require(job, function, "job");
    check_arguments(job->job, [&] {
      require(plan, function, "plan");
      require_bytes(unit_bytes, count, function, "unit_bytes");
      if (has_results) require_bytes(result_bytes, count, function, "result_bytes");
    });
    const Access::Call call = has_results ? Access::call_of("map", unit_bytes, result_bytes)
                                          : Access::call_of("scatter", unit_bytes);
    const auto given = [&] { return std::span(static_cast<std::byte*>(units), bytes_of(count, unit_bytes)); };
    std::span<std::byte> in;
    std::int64_t first = 0;
    std::vector<std::byte> brought;
    std::vector<std::byte> computed;
    std::unique_ptr<std::byte[]> untouched;
    const auto begin = [&](const Plan& used, std::span<std::byte> input) {
      const Range mine = used.range_of(plan->rank);
      in = input;
      first = mine.begin;
      if (has_results) computed.assign(bytes_of(mine.size(), result_bytes), std::byte{});
    };
    const auto call_at = [&](std::int64_t unit, auto& tile, auto* of_program) {
      std::byte* const at = in.data() + bytes_of(unit - first, unit_bytes);
      if constexpr (has_results)
        call_on(tile, of_program, at, computed.data() + bytes_of(unit - first, result_bytes), context);
      else
        call_on(tile, of_program, at, context);
    };
    Access::run(
        job->job, plan->plan,
        {.call = &call,
         .has_functions = on_host != nullptr,
         .host_only = on_device == nullptr,
         .local_units = count,
         .device_bytes_per_unit = static_cast<std::int64_t>(device_bytes_per_unit),
         .prepare =
             [&] {
               if (count > 0) require(units, function, "units");
               if (count > 0 && has_results) require(results, function, "results");
               begin(plan->plan, given());
               if (has_results || on_device == nullptr || !Access::runs_on_devices(job->job, plan->plan))
                 return;
               untouched = std::make_unique_for_overwrite<std::byte[]>(in.size());
               std::ranges::copy(in, untouched.get());
             },
         .on_device = [&](Tile& tile) { call_at(tile.range().begin, tile, on_device); },
         .on_host = [&](const HostTile& tile) { call_at(tile.range.begin, tile, on_host); },
         .restore =
             [&] {
               begin(plan->plan, given());
               if (!has_results) std::copy_n(untouched.get(), in.size(), in.data());
             },
         .can_move = true,
         .bring =
             [&](const Plan& other) {
               brought = Access::moved_in_pass(job->job, given(), unit_bytes, plan->plan, other);
               begin(other, brought);
             },
         .take_back =
             [&](const Plan& other) {
               std::vector<std::byte> back =
                   has_results ? Access::moved_in_pass(job->job, computed, result_bytes, other, plan->plan)
                               : Access::moved_in_pass(job->job, in, unit_bytes, other, plan->plan);
               if (has_results)
                 computed.swap(back);
               else
                 std::ranges::copy(back, given().data());
             }});
    std::ranges::copy(computed, static_cast<std::byte*>(results));
  });
}

}  // namespace

void check_arguments(Job& job, FunctionRef<void()> check) {
  try {
    check();
  } catch (const std::exception& error) {
    const auto fail = [thrown = std::current_exception()] { std::rethrow_exception(thrown); };
    (void)status_of([&] {
      Access::Call call = Access::call_of("refused:");
      call.types = error.what();
      Access::run(job, Plan::over_hosts(0, job.comm().size()),
                  {.call = &call,
                   .host_only = true,
                   .local_units = 0,
                   .prepare = fail,
                   .on_device = {},
                   .on_host = {},
                   .restore = {}});
    });
    throw;
  }
}

}  // namespace tessera::c

namespace c = tessera::c;
using tessera::FunctionRef;
using tessera::HostTile;
using tessera::ReproducibleSum;
using tessera::Tile;
using tessera::c::require;
using tessera::c::require_bytes;
using tessera::c::status_of;

int tessera_map(tessera_job* job, const tessera_plan* plan, const void* units, int64_t count,
                size_t unit_bytes, void* results, size_t result_bytes, size_t device_bytes_per_unit,
                tessera_device_map on_device, tessera_host_map on_host, void* context) {
  return c::run_units(job, plan, const_cast<void*>(units), count, unit_bytes, results, result_bytes,
                      device_bytes_per_unit, on_device, on_host, context);
}

int tessera_scatter(tessera_job* job, const tessera_plan* plan, void* units, int64_t count, size_t unit_bytes,
                    size_t device_bytes_per_unit, tessera_device_function on_device,
                    tessera_host_function on_host, void* context) {
  return c::run_units(job, plan, units, count, unit_bytes, nullptr, 0, device_bytes_per_unit, on_device,
                      on_host, context);
}

int tessera_reduce(tessera_job* job, const tessera_plan* plan, size_t width, size_t device_bytes_per_unit,
                   tessera_device_reduction on_device, tessera_host_reduction on_host, void* context,
                   double* result) {
  return status_of([&] {
    require(job, "tessera_reduce", "job");
    c::check_arguments(job->job, [&] {
      require(plan, "tessera_reduce", "plan");
      require(result, "tessera_reduce", "result");
    });
    FunctionRef<void(const HostTile&, std::span<double>)> host;
    const auto call_host = [&](const HostTile& tile, std::span<double> partial) {
      c::call_on(tile, on_host, partial.data(), context);
    };
    if (on_host != nullptr) host = call_host;
    const std::vector<double> sums = on_device == nullptr
                                         ? job->job.reduce(plan->plan, width, tessera::host_only, host)
                                         : job->job.reduce(
                                               plan->plan, width,
                                               [&](Tile& tile, ReproducibleSum& sum) {
                                                 c::call_on(tile, on_device, c::handle_of(sum), context);
                                               },
                                               host, static_cast<std::int64_t>(device_bytes_per_unit));
    std::ranges::copy(sums, result);
  });
}

int tessera_sum_add(tessera_sum* sum, const double* block) {
  return status_of([&] {
    tessera::ReproducibleSum& total = tessera::c::sum_of(sum);
    total.add({block, total.width()});
  });
}

int tessera_move(const tessera_job* job, const tessera_plan* from, const tessera_plan* to, const void* units,
                 int64_t count, size_t unit_bytes, void* moved) {
  return status_of([&] {
    require(job, "tessera_move", "job");
    tessera::together(job->job.comm(), [&] {
      require(from, "tessera_move", "from");
      require(to, "tessera_move", "to");
      require_bytes(unit_bytes, std::max(count, to->plan.range_of(to->rank).size()), "tessera_move",
                    "unit_bytes");
      if (count > 0) require(units, "tessera_move", "units");
      if (!to->plan.range_of(to->rank).empty()) require(moved, "tessera_move", "moved");
    });
    const std::vector<std::byte> received = c::Access::moved(job->job, static_cast<const std::byte*>(units),
                                                             count, unit_bytes, from->plan, to->plan);
    std::copy_n(received.data(), received.size(), static_cast<std::byte*>(moved));
  });
}
