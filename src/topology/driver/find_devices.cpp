// SPDX-License-Identifier: Apache-2.0
#include "topology/driver/find_devices.hpp"

#include <algorithm>

namespace TESSERA_NAMESPACE::detail {
namespace {

/// The minimum of CUDA 13, also in builds without CUDA, so that messages are the same.
constexpr ComputeCapability oldest_compute_capability{7, 5};

std::string gpus_text(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " GPU" : " GPUs");
}

FoundDevices absent(Absence::Reason reason, std::string message) {
  return {{}, Absence{reason, std::move(message)}};
}

}  // namespace

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

FoundDevices find_devices(const Survey& survey, const CudaEnvironment& env, int built_with) {
  using Reason = Absence::Reason;
  if (survey.absence) return {{}, survey.absence};
  if (survey.cuda_version / 1000 < built_with / 1000)
    return absent(Reason::driver_too_old, "the NVIDIA driver supports CUDA " +
                                              version_text(survey.cuda_version) +
                                              ", but this program needs CUDA " +
                                              std::to_string(built_with / 1000) + ": update the driver");
  if (survey.gpus.empty() && !survey.unreadable.empty())
    return absent(Reason::driver_error,
                  "the NVIDIA driver gives this process access to none of the " +
                      gpus_text(survey.unreadable.size()) + " (" +
                      (survey.broken.empty() ? survey.unreadable : survey.broken).front() + ")");
  if (survey.gpus.empty()) return absent(Reason::no_device, "the NVIDIA driver sees no GPU");

  auto visible = visible_devices(survey.gpus, env);
  if (visible.empty() && env.visible_devices)
    return absent(Reason::none_visible, "CUDA_VISIBLE_DEVICES=\"" + *env.visible_devices +
                                            "\" selects none of this node's " +
                                            gpus_text(survey.gpus.size()));
  if (visible.empty())
    return absent(Reason::no_device, "MIG mode is on, but no GPU has a MIG instance: create MIG instances");

  const DeviceInfo first = visible.front();
  std::erase_if(visible,
                [](const DeviceInfo& device) { return device.capability < oldest_compute_capability; });
  if (visible.empty())
    return absent(Reason::no_device,
                  first.name + " has compute capability " + std::to_string(first.capability.major) + "." +
                      std::to_string(first.capability.minor) + ", but CUDA " + version_text(built_with) +
                      " no longer supports this version: build with an older CUDA");
  return {std::move(visible), std::nullopt};
}

void leave_only(std::span<const Uuid> started_with, FoundDevices& found) {
  if (found.absence) return;
  const std::size_t visible = found.devices.size();
  std::erase_if(found.devices, [&](const DeviceInfo& device) {
    return std::ranges::find(started_with, device.uuid.bytes, &Uuid::bytes) == started_with.end();
  });
  if (!found.devices.empty()) return;
  found = absent(Absence::Reason::not_started, "CUDA was initialised in this process without the " +
                                                   gpus_text(visible) +
                                                   " that CUDA_VISIBLE_DEVICES selects now: create all jobs "
                                                   "of a process before the first job uses GPUs");
}

}  // namespace TESSERA_NAMESPACE::detail
