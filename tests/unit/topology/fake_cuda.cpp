// SPDX-License-Identifier: Apache-2.0
// A fake of the driver's libcuda.so.1 with the entry points by which the library detects, without
// initialising CUDA, whether it is initialised and with which devices.
#include <cstdint>
#include <cstring>

extern "C" {
__attribute__((visibility("default"))) int fake_cuda_status = 3;
__attribute__((visibility("default"))) int fake_cuda_devices = 0;
__attribute__((visibility("default"))) std::uint8_t fake_cuda_uuids[8][16] = {};

__attribute__((visibility("default"))) int cuCtxGetCurrent(void** context) {
  *context = nullptr;
  return fake_cuda_status;
}
__attribute__((visibility("default"))) int cuDeviceGetCount(int* count) {
  *count = fake_cuda_devices;
  return fake_cuda_status;
}
__attribute__((visibility("default"))) int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal + 10;  // a handle is not an ordinal
  return fake_cuda_status;
}
__attribute__((visibility("default"))) int cuDeviceGetUuid_v2(std::uint8_t* uuid, int device) {
  std::memcpy(uuid, fake_cuda_uuids[device - 10], 16);
  return fake_cuda_status;
}
}
