// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <tessera/topology/claim.hpp>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace tessera {
namespace {

/// Asks libcuda, if this process has loaded it, without initialising it.
bool cuda_is_initialised() {
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  constexpr int not_initialised = 3;  // CUDA_ERROR_NOT_INITIALIZED
  using GetCurrent = int(void**);
  auto* get_current = reinterpret_cast<GetCurrent*>(dlsym(library, "cuCtxGetCurrent"));
  void* context = nullptr;
  const bool initialised = get_current != nullptr && get_current(&context) != not_initialised;
  dlclose(library);
  return initialised;
}

}  // namespace

bool make_visible(const Claim& claim) {
  const auto simulated = [](const ClaimedDevice& device) { return device.info.simulated; };
  if (std::any_of(claim.devices.begin(), claim.devices.end(), simulated)) return true;
  // A rank whose share went to others must not touch their GPUs; one that saw none has nothing to hide.
  const bool none_left = claim.absence && claim.absence->reason == Absence::Reason::none_left;
  if (claim.devices.empty() && !none_left) return true;
  if (cuda_is_initialised()) return false;

  std::string uuids;
  for (const auto& device : claim.devices) {
    if (!uuids.empty()) uuids += ',';
    uuids += to_string(device.info.uuid);
  }
  return setenv("CUDA_VISIBLE_DEVICES", uuids.c_str(), 1) == 0;
}

}  // namespace tessera
