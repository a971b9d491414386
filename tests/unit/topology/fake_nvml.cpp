// SPDX-License-Identifier: Apache-2.0
// A fake of the driver's libnvidia-ml.so.1, for tests of the library's calls.
#include "fake_nvml.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define EXPORT extern "C" __attribute__((visibility("default")))

using tessera::nvml::Status;

EXPORT tessera::testing::FakeNvml fake_nvml;
tessera::testing::FakeNvml fake_nvml;

namespace {
// Handles: GPUs are 1 to 3, the instances in places 0 and 3 of the last are 10 and 13.
void* handle(std::uintptr_t number) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): never dereferenced
  return reinterpret_cast<void*>(number);
}
std::uintptr_t number(void* device) {
  return reinterpret_cast<std::uintptr_t>(device);
}
bool is_instance(void* device) {
  return number(device) >= 10;
}
constexpr unsigned long long gib = 1ULL << 30;
constexpr auto gpu_is_lost = static_cast<Status>(15);
}  // namespace

EXPORT Status nvmlInit_v2() {
  if (fake_nvml.init == Status::success) ++fake_nvml.open;
  return fake_nvml.init;
}
EXPORT Status nvmlShutdown() {
  --fake_nvml.open;
  return Status::success;
}
EXPORT const char* nvmlErrorString(Status status) {
  return status == Status::no_permission ? "Insufficient Permissions" : "Some Error";
}
EXPORT Status nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = fake_nvml.cuda_version;
  return fake_nvml.cuda_library;
}
EXPORT Status nvmlDeviceGetCount_v2(unsigned* count) {
  *count = fake_nvml.devices;
  return Status::success;
}
EXPORT Status nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  const char* const lost = std::getenv("TESSERA_FAKE_LOST");  // of a program that is run
  if (static_cast<int>(index) == (lost != nullptr ? std::atoi(lost) : fake_nvml.lost)) return gpu_is_lost;
  if (index == 1) return Status::no_permission;
  *device = handle(index + 1);
  return Status::success;
}
EXPORT Status nvmlDeviceGetUUID(void* device, char* text, unsigned length) {
  std::snprintf(text, length, "%s-000000%02d-0000-0000-0000-000000000000",
                is_instance(device) ? "MIG" : "GPU", static_cast<int>(number(device)));
  return Status::success;
}
EXPORT Status nvmlDeviceGetName(void* device, char* text, unsigned length) {
  std::snprintf(text, length, "%s", is_instance(device) ? "NVIDIA H200 MIG 1g.18gb" : "NVIDIA H200");
  return Status::success;
}
EXPORT Status nvmlDeviceGetPciInfo_v3(void* device, tessera::nvml::PciInfo* pci) {
  *pci = {};
  pci->domain = number(device) == 3 ? 1 : 0;
  pci->bus = 0x18;
  pci->device = 2;
  return Status::success;
}
EXPORT Status nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return Status::success;
}
EXPORT Status nvmlDeviceGetMemoryInfo(void* device, tessera::nvml::Memory* memory) {
  *memory = is_instance(device) ? tessera::nvml::Memory{18 * gib, 17 * gib, gib}
                                : tessera::nvml::Memory{144 * gib, 140 * gib, 4 * gib};
  return Status::success;
}
EXPORT Status nvmlDeviceGetEccMode(void*, unsigned* current, unsigned* pending) {
  *current = 1;
  *pending = 0;
  return Status::success;
}
EXPORT Status nvmlDeviceGetMaxClockInfo(void*, tessera::nvml::Clock clock, unsigned* mhz) {
  *mhz = clock == tessera::nvml::Clock::sm ? 1980 : 3201;
  return Status::success;
}
EXPORT Status nvmlDeviceGetMemoryBusWidth(void*, unsigned* bits) {
  *bits = 6144;
  return Status::success;
}
EXPORT Status nvmlDeviceGetNumGpuCores(void*, unsigned* cores) {
  *cores = 16896;
  return Status::success;
}
EXPORT Status nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  *current = number(device) == 3 ? 1 : 0;
  *pending = 0;
  return Status::success;
}
EXPORT Status nvmlDeviceGetMaxMigDeviceCount(void*, unsigned* count) {
  *count = 7;
  return Status::success;
}
EXPORT Status nvmlDeviceGetMigDeviceHandleByIndex(void*, unsigned index, void** device) {
  if (index != 0 && index != 3) return Status::not_found;
  if (static_cast<int>(index) == fake_nvml.lost_instance) return gpu_is_lost;
  *device = handle(10 + index);
  return Status::success;
}
EXPORT Status nvmlDeviceGetAttributes_v2(void*, tessera::nvml::Attributes* attributes) {
  *attributes = {};
  attributes->multiprocessors = 16;
  return Status::success;
}
EXPORT Status nvmlDeviceGetGpuInstanceId(void* device, unsigned* id) {
  *id = static_cast<unsigned>(number(device)) - 3;
  return Status::success;
}
EXPORT Status nvmlSystemGetDriverVersion(char* text, unsigned length) {
  std::snprintf(text, length, "580.95.05");
  return Status::success;
}
EXPORT Status nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  int found = 0;
  if (std::sscanf(uuid, "%*3s-%d-", &found) != 1 || found < 1) return Status::not_found;
  *device = handle(static_cast<std::uintptr_t>(found));
  return Status::success;
}
EXPORT Status nvmlDeviceGetTotalEccErrors(void* device, tessera::nvml::EccError kind,
                                          tessera::nvml::EccCounter counter, unsigned long long* count) {
  if (is_instance(device) || counter != tessera::nvml::EccCounter::since_driver_load)
    return Status::not_supported;
  *count = kind == tessera::nvml::EccError::corrected ? 12 : 1;
  return Status::success;
}
EXPORT Status nvmlDeviceGetRemappedRows(void* device, unsigned* corrected, unsigned* uncorrected,
                                        unsigned* pending, unsigned* failed) {
  if (is_instance(device)) return Status::not_supported;
  *corrected = 2;
  *uncorrected = 1;
  *pending = 1;
  *failed = 0;
  return Status::success;
}
EXPORT Status nvmlDeviceGetNvLinkState(void*, unsigned link, unsigned* active) {
  if (link >= 3) return Status::not_supported;
  *active = link == 1 ? 0 : 1;
  return Status::success;
}
EXPORT Status nvmlEventSetCreate(void** set) {
  *set = handle(100);
  ++fake_nvml.event_sets;
  return Status::success;
}
EXPORT Status nvmlEventSetFree(void*) {
  --fake_nvml.event_sets;
  return Status::success;
}
EXPORT Status nvmlDeviceRegisterEvents(void* device, unsigned long long types, void*) {
  return is_instance(device) || types != tessera::nvml::xid_event ? Status::not_supported : Status::success;
}
EXPORT Status nvmlEventSetWait_v2(void*, tessera::nvml::Event* event, unsigned) {
  constexpr Status timeout{10};
  if (fake_nvml.xids.empty()) return timeout;
  *event = {handle(1), tessera::nvml::xid_event, fake_nvml.xids.front(), 0, 0};
  fake_nvml.xids.erase(fake_nvml.xids.begin());
  return Status::success;
}
// nvmlDeviceGetComputeInstanceId is missing on purpose: an older library may lack any entry point.
