// SPDX-License-Identifier: Apache-2.0
// A stand-in for the driver's libcuda.so.1 with the one entry point that make_visible asks.

extern "C" __attribute__((visibility("default"))) int fake_cuda_status;
int fake_cuda_status = 3;

extern "C" __attribute__((visibility("default"))) int cuCtxGetCurrent(void** context) {
  *context = nullptr;
  return fake_cuda_status;
}
