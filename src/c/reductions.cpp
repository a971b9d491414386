// SPDX-License-Identifier: Apache-2.0
#include "c/reductions.hpp"

#include "job/consensus/vote.hpp"

#include <cstring>

namespace tessera::c {
namespace {

template <class R>
void combine_by(void* left, const void* right, void*) {
  auto& value = *static_cast<typename R::Value*>(left);
  value = R::combine(value, *static_cast<const typename R::Value*>(right));
}

template <class R>
tessera_reducer resolved_to(tessera_reducer reducer) {
  static const typename R::Value identity = R::identity();
  reducer.value_bytes = sizeof identity;
  reducer.identity = &identity;
  reducer.combine = combine_by<R>;
  return reducer;
}

[[noreturn]] void refuse(const char* function, const char* field, std::int64_t value, const char* advice) {
  throw Error(ErrorCode::usage, std::string(function) + ": the " + field + " of the reducer is " +
                                    std::to_string(value) + ": give " + advice);
}

template <template <class> class R>
tessera_reducer resolved_to_type(const tessera_reducer& reducer, const char* function) {
  switch (reducer.type) {
    case TESSERA_DOUBLE: return resolved_to<R<double>>(reducer);
    case TESSERA_FLOAT: return resolved_to<R<float>>(reducer);
    case TESSERA_INT32: return resolved_to<R<std::int32_t>>(reducer);
    case TESSERA_INT64: return resolved_to<R<std::int64_t>>(reducer);
    default: refuse(function, "type", reducer.type, "a value of tessera_type");
  }
}

tessera_reducer checked(const tessera_reducer& own, const char* function) {
  require(own.identity, function, "the identity of the reducer");
  if (own.combine == nullptr) refuse_null(function, "the function of the reducer");
  return own;
}

tessera_reducer resolved_to_operation(const tessera_reducer& reducer, const char* function) {
  switch (reducer.operation) {
    case TESSERA_SUM: return resolved_to_type<Sum>(reducer, function);
    case TESSERA_MINIMUM: return resolved_to_type<Minimum>(reducer, function);
    case TESSERA_MAXIMUM: return resolved_to_type<Maximum>(reducer, function);
    case TESSERA_MINIMUM_AT: return resolved_to_type<MinimumAt>(reducer, function);
    case TESSERA_MAXIMUM_AT: return resolved_to_type<MaximumAt>(reducer, function);
    case TESSERA_OWN: return checked(reducer, function);
    default: refuse(function, "operation", reducer.operation, "a value of tessera_operation");
  }
}

}  // namespace

tessera_reducer resolved(const tessera_reducer* given, const char* function) {
  require(given, function, "reducer");
  if (given->count < 1) refuse(function, "count", given->count, "1 or more");
  const tessera_reducer reducer = resolved_to_operation(*given, function);
  require_bytes(reducer.value_bytes, reducer.count, function, "value_bytes");
  return reducer;
}

void reduce_by(Job& job, const Plan& plan, const tessera_reducer& reducer,
               tessera::detail::BlockReduction functions,
               std::span<const tessera::detail::ArrayAccess> arrays, void* result) {
  const std::size_t all_bytes = static_cast<std::size_t>(reducer.count) * reducer.value_bytes;
  std::vector<std::byte> identity(all_bytes);
  for (std::size_t at = 0; at < all_bytes; at += reducer.value_bytes)
    std::memcpy(&identity[at], reducer.identity, reducer.value_bytes);
  const auto combine = [&](void* left, const void* right) {
    for (std::size_t at = 0; at < all_bytes; at += reducer.value_bytes)
      reducer.combine(static_cast<std::byte*>(left) + at, static_cast<const std::byte*>(right) + at,
                      reducer.context);
  };
  functions.value_bytes = all_bytes;
  functions.identity = identity.data();
  functions.combine = combine;
  Access::Call call = Access::call_of("reduce");
  call.types = "by operation " + std::to_string(reducer.operation) + " of type " +
               std::to_string(reducer.type) + ": " + std::to_string(reducer.count) + " values of " +
               std::to_string(reducer.value_bytes) + " bytes";
  call.signature = signature_of({call.signature, reducer.operation, reducer.type, reducer.count,
                                 static_cast<std::int64_t>(reducer.value_bytes)});
  std::vector<std::byte> all = identity;
  Access::combine_blocks(job, plan, functions, call, arrays, all.data());
  std::memcpy(result, all.data(), all_bytes);
}

}  // namespace tessera::c

namespace c = tessera::c;
using tessera::HostTile;
using tessera::Tile;

int tessera_reduce_by(tessera_job* job, const tessera_plan* plan, const tessera_reducer* reducer,
                      size_t device_bytes_per_unit, tessera_device_function on_device,
                      tessera_host_function on_host, void* context, void* result) {
  return c::status_of([&] {
    c::require(job, "tessera_reduce_by", "job");
    tessera_reducer how{};
    c::check_arguments(job->job, [&] {
      c::require(plan, "tessera_reduce_by", "plan");
      how = c::resolved(reducer, "tessera_reduce_by");
      c::require(result, "tessera_reduce_by", "result");
    });
    const auto of_tile = [&](Tile& tile, void* values, std::size_t) {
      c::call_on(tile, on_device, values, context);
    };
    const auto of_block = [&](const HostTile& tile, void* value) {
      c::call_on(tile, on_host, value, context);
    };
    c::reduce_by(job->job, plan->plan, how,
                 {.has_functions = on_host != nullptr,
                  .host_only = on_device == nullptr,
                  .on_device = of_tile,
                  .on_host = of_block,
                  .device_bytes_per_unit = static_cast<std::int64_t>(device_bytes_per_unit)},
                 {}, result);
  });
}
