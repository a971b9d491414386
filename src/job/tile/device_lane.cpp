// SPDX-License-Identifier: Apache-2.0
#include "job/tile/device_lane.hpp"

#include "device/context_access.hpp"

namespace TESSERA_NAMESPACE {

Tile DeviceLane::make_tile(Range part, Range whole, int device, const DeviceContext& context,
                           BufferPool& buffers, std::int64_t budget_bytes, const StopRequest* stop) {
  const StreamView stream = detail::ContextAccess::stream(context, number);
  if (!arena) {
    workspaces.emplace(make_upstream(context));
    arena.emplace(buffers, stream);
  }
  arena->reset();
  detail::ContextAccess::set_tile(context, {stream, &*arena});
  return {
      part, whole, device, number, context.info(), stream, {&buffers, &*workspaces, &*arena, budget_bytes},
      stop};
}

}  // namespace TESSERA_NAMESPACE
