// SPDX-License-Identifier: Apache-2.0
#include "c/callbacks.hpp"
#include "c/reductions.hpp"

#include <tessera/job/together.hpp>

#include <algorithm>

namespace tessera::c {
namespace {

using tessera::detail::ArrayAccess;

void require_some(const void* arrays, std::int32_t count, const char* function) {
  require(arrays, function, "arrays");
  if (count < 1)
    throw Error(ErrorCode::usage,
                std::string(function) + " was given " + std::to_string(count) + " arrays: give 1 or more");
}

ArrayAccess access_of(const tessera_array_use& used, const char* function) {
  require(used.array, function, "an array");
  Array<std::byte>& array = used.array->units;
  switch (used.use) {
    case TESSERA_READ: return array.read();
    case TESSERA_WRITE: return array.write();
    case TESSERA_MODIFY: return array.modify();
    default:
      throw Error(ErrorCode::usage, std::string(function) + ": an array has the use " +
                                        std::to_string(used.use) + ": set the use to a value of tessera_use");
  }
}

/// Converts and validates the arrays of a pass. `function`: name for error messages.
std::vector<ArrayAccess> accesses_of(const tessera_array_use* arrays, std::int32_t count,
                                     const char* function) {
  require_some(arrays, count, function);
  std::vector<ArrayAccess> accesses;
  for (const tessera_array_use& used : std::span(arrays, static_cast<std::size_t>(count)))
    accesses.push_back(access_of(used, function));
  return accesses;
}

void* units_of(const ArrayAccess& access, const Tile& tile) {
  return units_on_device(access, tile).data();
}
void* units_of(const ArrayAccess& access, const HostTile& tile) {
  return units_on_host(access, tile).data();
}

/// Calls the program's function with a pointer to the tile's units in each array.
template <class AnyTile, class Function, class... Arguments>
void call_with(std::span<const ArrayAccess> accesses, void* context, AnyTile& tile, Function* function,
               Arguments... arguments) {
  std::vector<void*> units;
  for (const ArrayAccess& access : accesses) units.push_back(units_of(access, tile));
  call_on(tile, function, arguments..., units.data(), context);
}

}  // namespace
}  // namespace tessera::c

namespace c = tessera::c;
using tessera::FunctionRef;
using tessera::HostTile;
using tessera::ReproducibleSum;
using tessera::Tile;
using tessera::c::require;
using tessera::c::status_of;

int tessera_array_open(tessera_job* job, const tessera_plan* plan, size_t unit_bytes, tessera_array** array) {
  return status_of([&] {
    require(job, "tessera_array_open", "job");
    std::unique_ptr<tessera_array> opened;  // freed if `together` throws
    tessera::together(job->job.comm(), [&] {
      require(array, "tessera_array_open", "array");
      *array = nullptr;
      require(plan, "tessera_array_open", "plan");
      const auto width = static_cast<std::int64_t>(unit_bytes);
      // NOLINTNEXTLINE(modernize-make-unique): Clang 14 makes no aggregate by it
      opened.reset(new tessera_array{job->job, {job->job, plan->plan, width}});
    });
    *array = opened.release();
  });
}
void tessera_array_close(tessera_array* array) {
  delete array;
}
void* tessera_array_overwrite(tessera_array* array) {
  void* units = nullptr;
  (void)status_of([&] { units = array->units.overwrite().data(); });
  return units;
}
const void* tessera_array_host(const tessera_array* array) {
  return array->units.host().data();
}
int64_t tessera_array_version(const tessera_array* array) {
  return array->units.version();
}
int64_t tessera_array_host_version(const tessera_array* array) {
  return array->units.host_version();
}
int tessera_array_move_to(tessera_array* array, const tessera_plan* plan) {
  return status_of([&] {
    require(array, "tessera_array_move_to", "array");
    tessera::together(array->job.comm(), [&] { require(plan, "tessera_array_move_to", "plan"); });
    array->units.move_to(plan->plan);
  });
}

int tessera_download(tessera_job* job, tessera_array* const* arrays, int32_t count) {
  return status_of([&] {
    require(job, "tessera_download", "job");
    std::vector<tessera::ArrayBase*> list;
    tessera::together(job->job.comm(), [&] {
      c::require_some(arrays, count, "tessera_download");
      for (tessera_array* const array : std::span(arrays, static_cast<std::size_t>(count))) {
        require(array, "tessera_download", "an array");
        list.push_back(&array->units);
      }
    });
    c::Access::download(job->job, list);
  });
}

int tessera_update(tessera_job* job, const tessera_array_use* arrays, int32_t count,
                   tessera_device_update on_device, tessera_host_update on_host, void* context) {
  return status_of([&] {
    require(job, "tessera_update", "job");
    std::vector<tessera::detail::ArrayAccess> accesses;
    c::check_arguments(job->job, [&] { accesses = c::accesses_of(arrays, count, "tessera_update"); });
    const c::Access::Call call = c::Access::call_of("update");
    c::Access::run(job->job, arrays->array->units.plan(),
                   {.call = &call,
                    .has_functions = on_host != nullptr,
                    .host_only = on_device == nullptr,
                    .local_units = std::nullopt,
                    .prepare = [] {},
                    .on_device = [&](Tile& tile) { c::call_with(accesses, context, tile, on_device); },
                    .on_host = [&](const HostTile& tile) { c::call_with(accesses, context, tile, on_host); },
                    .restore = [] {},
                    .arrays = accesses});
  });
}

int tessera_reduce_arrays(tessera_job* job, const tessera_array_use* arrays, int32_t count, size_t width,
                          tessera_device_array_reduction on_device, tessera_host_array_reduction on_host,
                          void* context, double* result) {
  return status_of([&] {
    require(job, "tessera_reduce_arrays", "job");
    std::vector<tessera::detail::ArrayAccess> accesses;
    c::check_arguments(job->job, [&] {
      accesses = c::accesses_of(arrays, count, "tessera_reduce_arrays");
      require(result, "tessera_reduce_arrays", "result");
    });
    const auto of_tile = [&](Tile& tile, ReproducibleSum& sum) {
      c::call_with(accesses, context, tile, on_device, c::handle_of(sum));
    };
    const auto of_block = [&](const HostTile& tile, std::span<double> partial) {
      c::call_with(accesses, context, tile, on_host, partial.data());
    };
    const FunctionRef<void(Tile&, ReproducibleSum&)> device(of_tile);
    FunctionRef<void(const HostTile&, std::span<double>)> host;
    if (on_host != nullptr) host = of_block;
    const std::vector<double> sums =
        c::Access::sum_blocks(job->job, width, on_device == nullptr ? nullptr : &device, host,
                              c::Access::call_of("reduce"), accesses);
    std::ranges::copy(sums, result);
  });
}

int tessera_reduce_arrays_by(tessera_job* job, const tessera_array_use* arrays, int32_t count,
                             const tessera_reducer* reducer, tessera_device_array_function on_device,
                             tessera_host_array_function on_host, void* context, void* result) {
  return status_of([&] {
    require(job, "tessera_reduce_arrays_by", "job");
    std::vector<tessera::detail::ArrayAccess> accesses;
    tessera_reducer how{};
    c::check_arguments(job->job, [&] {
      accesses = c::accesses_of(arrays, count, "tessera_reduce_arrays_by");
      how = c::resolved(reducer, "tessera_reduce_arrays_by");
      require(result, "tessera_reduce_arrays_by", "result");
    });
    const auto of_tile = [&](Tile& tile, void* values, std::size_t) {
      c::call_with(accesses, context, tile, on_device, values);
    };
    const auto of_block = [&](const HostTile& tile, void* value) {
      c::call_with(accesses, context, tile, on_host, value);
    };
    c::reduce_by(job->job, arrays->array->units.plan(), how,
                 {.has_functions = on_host != nullptr,
                  .host_only = on_device == nullptr,
                  .on_device = of_tile,
                  .on_host = of_block},
                 accesses, result);
  });
}
