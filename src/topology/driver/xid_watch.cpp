// SPDX-License-Identifier: Apache-2.0
#include "topology/driver/xid_watch.hpp"

#include <algorithm>

namespace TESSERA_NAMESPACE::detail {

using nvml::call;
using nvml::Status;

namespace {

/// Xid errors that a faulty program causes on a working GPU: an exception or a page fault of a kernel, and
/// the ends of its channels (NVIDIA's list of Xid errors). Ignored, because another process on the device may
/// have caused them, and CUDA reports this process's errors.
bool is_of_a_program(std::uint64_t number) {
  return number == 13 || number == 31 || number == 43 || number == 45;
}

}  // namespace

XidWatch::XidWatch(std::span<const DeviceInfo> devices) : watched_(devices.size(), nullptr) {
  const nvml::Api& api = library_.api();
  if (library_.status() != Status::success || call(api.event_set_create, &set_) != Status::success) return;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    nvml::Device handle = nullptr;
    if (!devices[i].has_host_memory() &&
        call(api.device_by_uuid, to_string(devices[i].uuid).c_str(), &handle) == Status::success &&
        call(api.register_events, handle, nvml::xid_event, set_) == Status::success)
      watched_[i] = handle;
  }
}

XidWatch::~XidWatch() {
  if (set_ != nullptr) call(library_.api().event_set_free, set_);
}

std::vector<std::vector<std::uint64_t>> XidWatch::take() {
  std::vector<std::vector<std::uint64_t>> numbers(watched_.size());
  if (std::ranges::all_of(watched_, [](nvml::Device device) { return device == nullptr; })) return numbers;
  nvml::Event event{};
  while (call(library_.api().event_set_wait, set_, &event, 0u) == Status::success) {
    if (is_of_a_program(event.data)) continue;
    for (std::size_t i = 0; i < watched_.size(); ++i)
      if (watched_[i] == event.device) numbers[i].push_back(event.data);
  }
  return numbers;
}

}  // namespace TESSERA_NAMESPACE::detail
