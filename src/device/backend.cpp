// SPDX-License-Identifier: Apache-2.0
#include <tessera/device/backend.hpp>

#include "device/backend_outcomes.hpp"
#include "device/context_access.hpp"
#include "device/cuda_calls.hpp"

#include <tessera/error.hpp>

#include <exception>

namespace TESSERA_NAMESPACE {
namespace {

std::string titled(std::string_view label) {
  return "backend \"" + std::string(label) + "\"";
}

std::string named(const DeviceInfo& device) {
  return "device " + to_string(device.uuid) + " (" + device.name + ")";
}

}  // namespace

BackendContext probe_backend(std::string_view label) {
  const DeviceContext* device = DeviceContext::bound_to_this_thread();
  if (device == nullptr)
    throw Error(ErrorCode::device_absent, titled(label) +
                                              " needs a device bound to this thread: call probe_backend in a "
                                              "device function, or after DeviceContext::bind");
  const DeviceInfo& info = device->info();
  if (!info.has_host_memory()) {
    try {
      cuda::check_current(device->ordinal());
    } catch (const Error& error) {
      throw Error(ErrorCode::job_fault, titled(label) + " cannot use " + named(info) + ": " + error.what());
    }
  }
  const auto [stream, arena] = detail::ContextAccess::tile(*device);
  return {device, stream, info.capability, &device->modules(), arena};
}

detail::Erased detail::build_once(const BackendContext& context, std::string_view label,
                                  const std::type_info& type, FunctionRef<Erased()> build) {
  BackendOutcomes::Slot& slot = ContextAccess::backends(*context.device).slot_of(label);
  const std::lock_guard lock(slot.building);
  if (!slot.done) {
    slot.type = type;
    try {
      slot.built = build();
    } catch (const std::exception& error) {
      slot.reason = error.what();
    } catch (...) {
      slot.reason = "an exception that is not a std::exception";
    }
    slot.done = true;
  }
  if (slot.type != std::type_index(type))
    throw Error(ErrorCode::usage,
                titled(label) + " was already built as another type: use a different label for each type");
  if (!slot.built)
    throw Error(ErrorCode::job_fault,
                titled(label) + " cannot be built on " + named(context.device->info()) + ": " + slot.reason);
  return slot.built;
}

}  // namespace TESSERA_NAMESPACE
