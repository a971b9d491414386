// SPDX-License-Identifier: Apache-2.0
#include "topology/driver/cuda_visibility.hpp"

#include "base/shared_library.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>

namespace TESSERA_NAMESPACE::detail {
namespace {

constexpr const char* visibility_variable = "CUDA_VISIBLE_DEVICES";

/// State of CUDA_VISIBLE_DEVICES that the jobs of this process share.
struct Shown {
  std::mutex guard;
  int jobs = 0;               ///< live `CudaVisibility` objects with an effect
  std::vector<Uuid> devices;  ///< visible devices in the order of their ordinals; append-only while there are
                              ///< jobs
  bool is_set = false;        ///< whether `set` has replaced the user's value
  std::optional<std::string> before;
  std::optional<std::string> last;
};

Shown& shown() {
  static Shown all;
  return all;
}

std::optional<std::string> variable_now() {
  const char* text = std::getenv(visibility_variable);
  return text != nullptr ? std::optional<std::string>(text) : std::nullopt;
}

base::SharedLibrary loaded_cuda() {
  return base::SharedLibrary("libcuda.so.1", base::SharedLibrary::Opening::if_loaded);
}

bool has_started(const base::SharedLibrary& cuda) {
  constexpr int not_initialised = 3;  // CUDA_ERROR_NOT_INITIALIZED
  int (*get_current)(void**) = nullptr;
  void* context = nullptr;
  return cuda.find(get_current, "cuCtxGetCurrent") && get_current(&context) != not_initialised;
}

void set(Shown& all) {
  std::string uuids;
  for (const Uuid& uuid : all.devices) uuids += (uuids.empty() ? "" : ",") + to_string(uuid);
  if (!all.is_set) all.before = variable_now();
  all.is_set = setenv(visibility_variable, uuids.c_str(), 1) == 0;
  all.last = uuids;
}

void restore(Shown& all) {
  if (!all.is_set) return;
  all.is_set = false;
  if (variable_now() != all.last) return;  // the application has changed the variable
  if (all.before)
    setenv(visibility_variable, all.before->c_str(), 1);
  else
    unsetenv(visibility_variable);
}

}  // namespace

CudaVisibility::CudaVisibility(const Claim& claim) {
  if (std::ranges::any_of(claim.devices, [](const ClaimedDevice& device) { return device.info.simulated; }))
    return;
  using Reason = Absence::Reason;
  const bool others_have_them = claim.absence && (claim.absence->reason == Reason::none_left ||
                                                  claim.absence->reason == Reason::driven);
  if (claim.devices.empty() && !others_have_them) return;

  Shown& all = shown();
  const std::lock_guard lock(all.guard);
  if (has_started(loaded_cuda())) {
    restore(all);
    return;
  }
  holds_ = true;
  if (all.jobs++ == 0) all.devices.clear();
  for (const ClaimedDevice& device : claim.devices)
    if (std::ranges::find(all.devices, device.info.uuid) == all.devices.end())
      all.devices.push_back(device.info.uuid);
  set(all);
}

CudaVisibility::~CudaVisibility() {
  if (!holds_) return;
  Shown& all = shown();
  const std::lock_guard lock(all.guard);
  if (--all.jobs == 0) restore(all);
}

std::optional<Ordinal> CudaVisibility::ordinal_of(const DeviceInfo& device) const {
  if (!holds_) return std::nullopt;
  Shown& all = shown();
  const std::lock_guard lock(all.guard);
  return Ordinal{static_cast<int>(std::ranges::find(all.devices, device.uuid) - all.devices.begin())};
}

void restore_once_cuda_has_started() {
  Shown& all = shown();
  const std::lock_guard lock(all.guard);
  if (all.is_set && has_started(loaded_cuda())) restore(all);
}

std::optional<std::string> visible_devices_as_found() {
  Shown& all = shown();
  const std::lock_guard lock(all.guard);
  auto now = variable_now();
  return all.is_set && now == all.last ? all.before : now;
}

std::optional<std::string> visible_devices_for_cuda() {
  Shown& all = shown();
  const std::lock_guard lock(all.guard);
  return all.last ? all.last : variable_now();
}

std::optional<std::vector<Uuid>> devices_of_started_cuda() {
  const auto cuda = loaded_cuda();
  if (!has_started(cuda)) return std::nullopt;
  int (*count_devices)(int*) = nullptr;
  int (*get_device)(int*, int) = nullptr;
  int (*get_uuid)(std::uint8_t*, int) = nullptr;
  int count = 0;
  if (!cuda.find(count_devices, "cuDeviceGetCount") || !cuda.find(get_device, "cuDeviceGet") ||
      !cuda.find(get_uuid, "cuDeviceGetUuid_v2") || count_devices(&count) != 0)
    return std::nullopt;
  std::vector<Uuid> devices;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    int device = 0;
    Uuid uuid;
    if (get_device(&device, ordinal) == 0 && get_uuid(uuid.bytes.data(), device) == 0)
      devices.push_back(uuid);
  }
  return devices;
}

}  // namespace TESSERA_NAMESPACE::detail
