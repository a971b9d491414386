// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_calls.hpp"

#include "device/cuda_check.hpp"
#include "topology/driver/cuda_visibility.hpp"

#include <tessera/error.hpp>

#include <cuda_runtime_api.h>

#include <cstring>
#include <string>

namespace tessera::cuda {
namespace {

bool is_only_visible_device(const Uuid& uuid, int count) {
  return count == 1 && detail::visible_devices_for_cuda() == to_string(uuid);
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
              "the device is not among the " + std::to_string(count) +
                  " devices that CUDA shows to this process: correct CUDA_VISIBLE_DEVICES");
}

void bind(Ordinal ordinal) {
  const int wanted = static_cast<int>(ordinal);
  check(cudaSetDevice(wanted), "cudaSetDevice");
  check_current(ordinal);
}

void check_current(Ordinal ordinal) {
  int current = -1;
  check(cudaGetDevice(&current), "cudaGetDevice");
  if (current != static_cast<int>(ordinal))
    throw Error(ErrorCode::job_fault, "CUDA device " + std::to_string(current) +
                                          " is current instead of device " +
                                          std::to_string(static_cast<int>(ordinal)));
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

void on_device(Ordinal ordinal, const std::function<void()>& work) noexcept {
  try {
    const OnDevice current(ordinal);
    work();
  } catch (...) {
    // The device is lost or the process ends: in both cases the driver frees the resources.
  }
}

StreamView create_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return StreamView(stream);
}

void destroy_stream(StreamView stream, Ordinal ordinal) noexcept {
  on_device(ordinal, [&] { (void)cudaStreamDestroy(native(stream)); });
}

void synchronize(StreamView stream) {
  check(cudaStreamSynchronize(native(stream)), "cudaStreamSynchronize");
  check(cudaGetLastError(), "a kernel launch");
}

EventView create_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  return EventView(event);
}

void destroy_event(EventView event, Ordinal ordinal) noexcept {
  on_device(ordinal, [&] { (void)cudaEventDestroy(native(event)); });
}

void record(EventView event, StreamView stream) {
  check(cudaEventRecord(native(event), native(stream)), "cudaEventRecord");
}

bool ready(EventView event) {
  // Report an earlier unchecked error first: "not ready" would replace it.
  check(cudaPeekAtLastError(), "a kernel launch");
  const cudaError_t status = cudaEventQuery(native(event));
  if (status == cudaErrorNotReady) {
    (void)cudaGetLastError();  // "not ready" is a result, not a failed launch
    return false;
  }
  check(status, "cudaEventQuery");
  return true;
}

void make_wait(StreamView stream, EventView event) {
  check(cudaStreamWaitEvent(native(stream), native(event), cudaEventWaitDefault), "cudaStreamWaitEvent");
}

void synchronize(EventView event) {
  check(cudaEventSynchronize(native(event)), "cudaEventSynchronize");
}

void pin(void* memory, std::size_t bytes) {
  check(cudaHostRegister(memory, bytes, cudaHostRegisterPortable), "cudaHostRegister");
}

void unpin(void* memory, Ordinal ordinal) noexcept {
  on_device(ordinal, [&] { (void)cudaHostUnregister(memory); });
}

std::int64_t free_memory_bytes(Ordinal ordinal) {
  const OnDevice current(ordinal);
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return static_cast<std::int64_t>(free);
}

std::shared_ptr<void> keep_current() {
  return std::make_shared<CurrentContext>();
}

void copy(void* to, const void* from, std::size_t bytes, StreamView stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, native(stream)), "cudaMemcpyAsync");
}

bool is_done(StreamView stream) {
  const cudaError_t status = cudaStreamQuery(native(stream));
  if (status == cudaErrorNotReady) {
    (void)cudaGetLastError();
    return false;
  }
  check(status, "cudaStreamQuery");
  return true;
}

// Modules are loaded by the driver API, because the runtime API supports libraries only since CUDA 12.8.

void* load_library(const char* image) {
  static const auto load =
      driver_function<CUresult (*)(CUlibrary*, const void*, CUjit_option*, void**, unsigned, CUlibraryOption*,
                                   void**, unsigned)>("cuLibraryLoadData");
  CUlibrary library = nullptr;
  check(load(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0), "cuLibraryLoadData");
  try {
    // Forces the driver, which loads lazily, to load the image here and not at the first launch.
    static const auto module_of = driver_function<CUresult (*)(CUmodule*, CUlibrary)>("cuLibraryGetModule");
    CUmodule module = nullptr;
    check(module_of(&module, library), "cuLibraryGetModule");
  } catch (...) {
    unload_library(library);
    throw;
  }
  return library;
}

void unload_library(void* library) noexcept {
  try {
    static const auto unload = driver_function<CUresult (*)(CUlibrary)>("cuLibraryUnload");
    (void)unload(static_cast<CUlibrary>(library));
  } catch (const Error&) {
    // At the end of the process the driver may be unloaded already.
  }
}

KernelView kernel_of(void* library, const char* name) {
  static const auto get =
      driver_function<CUresult (*)(CUkernel*, CUlibrary, const char*)>("cuLibraryGetKernel");
  CUkernel kernel = nullptr;
  check(get(&kernel, static_cast<CUlibrary>(library), name), "cuLibraryGetKernel");
  return KernelView(kernel);
}

namespace {

/// Raises a kernel's limit of dynamic shared memory on the current device if the default is too low.
void allow_shared_bytes(KernelView kernel, std::size_t shared_bytes) {
  constexpr std::size_t every_kernel_has = 48 * 1024;
  if (shared_bytes <= every_kernel_has) return;
  static const auto current = driver_function<CUresult (*)(CUdevice*)>("cuCtxGetDevice");
  static const auto set =
      driver_function<CUresult (*)(CUfunction_attribute, int, CUkernel, CUdevice)>("cuKernelSetAttribute");
  CUdevice device = 0;
  check(current(&device), "cuCtxGetDevice");
  check(set(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(shared_bytes),
            static_cast<CUkernel>(kernel.native()), device),
        "cuKernelSetAttribute");
}

}  // namespace

void launch(KernelView kernel, Extent grid, Extent block, std::size_t shared_bytes, StreamView stream,
            void** arguments) {
  static const auto launch_kernel =
      driver_function<CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                   unsigned, CUstream, void**, void**)>("cuLaunchKernel");
  allow_shared_bytes(kernel, shared_bytes);
  // The driver accepts a library's kernel as a function, and resolves it for the current context.
  check(launch_kernel(static_cast<CUfunction>(kernel.native()), grid.x, grid.y, grid.z, block.x, block.y,
                      block.z, static_cast<unsigned>(shared_bytes), static_cast<CUstream>(stream.native()),
                      arguments, nullptr),
        "cuLaunchKernel");
}

}  // namespace tessera::cuda
