// SPDX-License-Identifier: Apache-2.0
#include "c/callbacks.hpp"

#include <tessera/job/together.hpp>

#include <algorithm>
#include <exception>
#include <memory>

namespace tessera::c {
namespace {

/// The units of this rank in a pass, `unit_bytes` each.
template <class Byte>
struct LocalUnits {
  Byte* data = nullptr;
  std::size_t unit_bytes = 0;
  std::int64_t first = 0;

  [[nodiscard]] Byte* at(std::int64_t unit) const {
    return data + static_cast<std::size_t>(unit - first) * unit_bytes;
  }
  /// The same units by another plan.
  [[nodiscard]] std::vector<std::byte> moved(const Job& job, std::int64_t count, const Plan& from,
                                             const Plan& to) const {
    return Access::moved_in_pass(job, {data, static_cast<std::size_t>(count) * unit_bytes}, unit_bytes, from,
                                 to);
  }
};

std::size_t bytes_of(std::int64_t count, std::size_t unit_bytes) {
  return static_cast<std::size_t>(count) * unit_bytes;
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
  return status_of([&] {
    require(job, "tessera_map", "job");
    c::check_arguments(job->job, [&] {
      require(plan, "tessera_map", "plan");
      require_bytes(unit_bytes, count, "tessera_map", "unit_bytes");
      require_bytes(result_bytes, count, "tessera_map", "result_bytes");
    });
    const c::Access::Call call = c::Access::call_of("map", unit_bytes, result_bytes);
    c::LocalUnits<const std::byte> in{static_cast<const std::byte*>(units), unit_bytes};
    c::LocalUnits<std::byte> out{nullptr, result_bytes};
    std::vector<std::byte> brought;
    std::vector<std::byte> computed;
    const auto begin = [&](const tessera::Plan& used, const std::byte* input) {
      const tessera::Range mine = used.range_of(plan->rank);
      in.data = input;
      in.first = out.first = mine.begin;
      computed.assign(c::bytes_of(mine.size(), result_bytes), std::byte{});
      out.data = computed.data();
    };
    const auto begin_here = [&] { begin(plan->plan, static_cast<const std::byte*>(units)); };
    c::Access::run(job->job, plan->plan,
                   {.call = &call,
                    .has_functions = on_host != nullptr,
                    .host_only = on_device == nullptr,
                    .local_units = count,
                    .device_bytes_per_unit = static_cast<std::int64_t>(device_bytes_per_unit),
                    .prepare =
                        [&] {
                          if (count > 0) require(units, "tessera_map", "units");
                          if (count > 0) require(results, "tessera_map", "results");
                          begin_here();
                        },
                    .on_device =
                        [&](Tile& tile) {
                          const std::int64_t first = tile.range().begin;
                          c::call_on_device(tile, [&](tessera_tile* handle) {
                            return on_device(handle, in.at(first), out.at(first), context);
                          });
                        },
                    .on_host =
                        [&](const HostTile& tile) {
                          const std::int64_t first = tile.range.begin;
                          c::call_on_host(tile, [&](const tessera_host_tile* given) {
                            return on_host(given, in.at(first), out.at(first), context);
                          });
                        },
                    .restore = begin_here,
                    .can_move = true,
                    .bring =
                        [&](const tessera::Plan& other) {
                          in.data = static_cast<const std::byte*>(units);
                          brought = in.moved(job->job, count, plan->plan, other);
                          begin(other, brought.data());
                        },
                    .take_back =
                        [&](const tessera::Plan& other) {
                          computed =
                              out.moved(job->job, other.range_of(plan->rank).size(), other, plan->plan);
                        }});
    std::copy_n(computed.data(), computed.size(), static_cast<std::byte*>(results));
  });
}

int tessera_scatter(tessera_job* job, const tessera_plan* plan, void* units, int64_t count, size_t unit_bytes,
                    size_t device_bytes_per_unit, tessera_device_function on_device,
                    tessera_host_function on_host, void* context) {
  return status_of([&] {
    require(job, "tessera_scatter", "job");
    c::check_arguments(job->job, [&] {
      require(plan, "tessera_scatter", "plan");
      require_bytes(unit_bytes, count, "tessera_scatter", "unit_bytes");
    });
    const c::Access::Call call = c::Access::call_of("scatter", unit_bytes);
    c::LocalUnits<std::byte> mine{static_cast<std::byte*>(units), unit_bytes};
    const auto bytes = [&] { return c::bytes_of(count, unit_bytes); };
    std::unique_ptr<std::byte[]> untouched;
    std::vector<std::byte> brought;
    const auto begin = [&](const tessera::Plan& used, void* input) {
      mine.data = static_cast<std::byte*>(input);
      mine.first = used.range_of(plan->rank).begin;
    };
    c::Access::run(job->job, plan->plan,
                   {.call = &call,
                    .has_functions = on_host != nullptr,
                    .host_only = on_device == nullptr,
                    .local_units = count,
                    .device_bytes_per_unit = static_cast<std::int64_t>(device_bytes_per_unit),
                    .prepare =
                        [&] {
                          if (count > 0) require(units, "tessera_scatter", "units");
                          begin(plan->plan, units);
                          if (on_device == nullptr || !c::Access::runs_on_devices(job->job, plan->plan))
                            return;
                          untouched = std::make_unique_for_overwrite<std::byte[]>(bytes());
                          std::copy_n(mine.data, bytes(), untouched.get());
                        },
                    .on_device =
                        [&](Tile& tile) {
                          c::call_on_device(tile, [&](tessera_tile* handle) {
                            return on_device(handle, mine.at(tile.range().begin), context);
                          });
                        },
                    .on_host =
                        [&](const HostTile& tile) {
                          c::call_on_host(tile, [&](const tessera_host_tile* given) {
                            return on_host(given, mine.at(tile.range.begin), context);
                          });
                        },
                    .restore =
                        [&] {
                          begin(plan->plan, units);
                          std::copy_n(untouched.get(), bytes(), mine.data);
                        },
                    .can_move = true,
                    .bring =
                        [&](const tessera::Plan& other) {
                          begin(plan->plan, units);
                          brought = mine.moved(job->job, count, plan->plan, other);
                          begin(other, brought.data());
                        },
                    .take_back =
                        [&](const tessera::Plan& other) {
                          const std::vector<std::byte> back =
                              mine.moved(job->job, other.range_of(plan->rank).size(), other, plan->plan);
                          std::copy_n(back.data(), back.size(), static_cast<std::byte*>(units));
                        }});
  });
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
      c::call_on_host(
          tile, [&](const tessera_host_tile* given) { return on_host(given, partial.data(), context); });
    };
    if (on_host != nullptr) host = call_host;
    const std::vector<double> sums = on_device == nullptr
                                         ? job->job.reduce(plan->plan, width, tessera::host_only, host)
                                         : job->job.reduce(
                                               plan->plan, width,
                                               [&](Tile& tile, ReproducibleSum& sum) {
                                                 c::call_on_device(tile, [&](tessera_tile* handle) {
                                                   return on_device(handle, c::handle_of(sum), context);
                                                 });
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
