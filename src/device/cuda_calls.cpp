// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_calls.hpp"

#include <tessera/error.hpp>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace tessera::cuda {
namespace {

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  // Takes an error that does not stick away, so that the next call is not blamed for it.
  (void)cudaGetLastError();
  throw Error(ErrorCode::job_fault,
              std::string(call) + ": " + cudaGetErrorName(status) + " (" + cudaGetErrorString(status) + ")");
}

cudaStream_t native(StreamView stream) {
  return static_cast<cudaStream_t>(stream.native());
}

/// A function of the driver, found through the runtime: the program is not linked with libcuda.
template <class Function>
Function driver_function(const char* name) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check(cudaGetDriverEntryPointByVersion(name, &address, 12000, cudaEnableDefault, &found), name);
  if (found != cudaDriverEntryPointSuccess || address == nullptr)
    throw Error(ErrorCode::job_fault, std::string("the driver has no function ") + name);
  return reinterpret_cast<Function>(address);
}

/// Puts back what was current on this thread, also if that was nothing: `cudaSetDevice` could not do
/// that, and would make a context on a device that may be another rank's.
class CurrentContext {
 public:
  CurrentContext() : set_(driver_function<CUresult (*)(CUcontext)>("cuCtxSetCurrent")) {
    const auto get = driver_function<CUresult (*)(CUcontext*)>("cuCtxGetCurrent");
    if (get(&context_) != CUDA_SUCCESS)
      throw Error(ErrorCode::job_fault, "cuCtxGetCurrent failed: the driver cannot be used");
  }
  ~CurrentContext() { (void)set_(context_); }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  CUresult (*set_)(CUcontext);
  CUcontext context_ = nullptr;
};

bool is_only_visible_device(const Uuid& uuid, int count) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return count == 1 && visible != nullptr && visible == to_string(uuid);
}

}  // namespace

Ordinal find_ordinal(const Uuid& uuid) {
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
    static_assert(sizeof properties.uuid.bytes == sizeof uuid.bytes);
    if (std::memcmp(properties.uuid.bytes, uuid.bytes.data(), sizeof uuid.bytes) == 0)
      return Ordinal{ordinal};
  }
  if (uuid.mig && is_only_visible_device(uuid, count)) return Ordinal{0};
  throw Error(ErrorCode::job_fault,
              "it is none of the " + std::to_string(count) + " devices that CUDA shows to this process");
}

void bind(Ordinal ordinal) {
  const int wanted = static_cast<int>(ordinal);
  check(cudaSetDevice(wanted), "cudaSetDevice");
  int current = -1;
  check(cudaGetDevice(&current), "cudaGetDevice");
  if (current != wanted)
    throw Error(ErrorCode::job_fault, "cudaSetDevice(" + std::to_string(wanted) + ") left device " +
                                          std::to_string(current) + " current");
}

void fill_properties(Ordinal ordinal, DeviceInfo& info) {
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, static_cast<int>(ordinal)), "cudaDeviceGetAttribute");
    return value;
  };
  info.l2_bytes = attribute(cudaDevAttrL2CacheSize);
  info.shared_memory_per_block_bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  info.threads_per_multiprocessor = attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
}

StreamView create_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return StreamView(stream);
}

void destroy_stream(StreamView stream) noexcept {
  (void)cudaStreamDestroy(native(stream));
}

void synchronize(StreamView stream) {
  check(cudaStreamSynchronize(native(stream)), "cudaStreamSynchronize");
  check(cudaGetLastError(), "a kernel launch");
}

std::int64_t free_memory_bytes(Ordinal ordinal) {
  const CurrentContext restored_at_the_end;
  bind(ordinal);
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return static_cast<std::int64_t>(free);
}

}  // namespace tessera::cuda
