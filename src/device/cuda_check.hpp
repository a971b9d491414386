// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/cuda_calls.hpp"

#include <tessera/device/stream.hpp>
#include <tessera/error.hpp>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <string>

/// Helpers for sources that call CUDA. Other sources must not include this header, because it exposes CUDA's
/// types.
namespace tessera::cuda {

/// Throws `Error(job_fault)` with the name of the call and the runtime's reason unless `status` is success.
inline void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  // Clears a non-sticky error, so that the next call does not report it again.
  (void)cudaGetLastError();
  throw Error(ErrorCode::job_fault,
              std::string(call) + ": " + cudaGetErrorName(status) + " (" + cudaGetErrorString(status) + ")");
}

[[nodiscard]] inline cudaStream_t native(StreamView stream) {
  return static_cast<cudaStream_t>(stream.native());
}

[[nodiscard]] inline cudaEvent_t native(EventView event) {
  return static_cast<cudaEvent_t>(event.native());
}

/// A function of the driver, resolved through the runtime: the program is not linked with libcuda.
template <class Function>
Function driver_function(const char* name) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check(cudaGetDriverEntryPointByVersion(name, &address, 12000, cudaEnableDefault, &found), name);
  if (found != cudaDriverEntryPointSuccess || address == nullptr)
    throw Error(ErrorCode::job_fault, std::string("the NVIDIA driver lacks ") + name + ": update it");
  return reinterpret_cast<Function>(address);
}

/// Throws `Error(job_fault)` with the name of the call and the driver's reason unless `status` is success.
inline void check(CUresult status, const char* call) {
  if (status == CUDA_SUCCESS) return;
  static const auto error_name = driver_function<CUresult (*)(CUresult, const char**)>("cuGetErrorName");
  static const auto error_text = driver_function<CUresult (*)(CUresult, const char**)>("cuGetErrorString");
  const char* name = nullptr;
  const char* text = nullptr;
  (void)error_name(status, &name);
  (void)error_text(status, &text);
  throw Error(ErrorCode::job_fault, std::string(call) + ": " + (name != nullptr ? name : "unknown error") +
                                        " (" + (text != nullptr ? text : "no description") + ")");
}

[[nodiscard]] inline CUcontext current_context() {
  static const auto get = driver_function<CUresult (*)(CUcontext*)>("cuCtxGetCurrent");
  CUcontext context = nullptr;
  if (get(&context) != CUDA_SUCCESS)
    throw Error(ErrorCode::job_fault, "cuCtxGetCurrent failed: the driver cannot be used");
  return context;
}

/// The destructor restores this thread's current context, or the state without one. `cudaSetDevice` cannot
/// restore the latter: it would create a context on a device that another rank may have claimed.
class CurrentContext {
 public:
  CurrentContext() : set_(set_current()), context_(current_context()) {}
  ~CurrentContext() { (void)set_(context_); }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

  [[nodiscard]] bool any() const noexcept { return context_ != nullptr; }

 private:
  using Set = CUresult (*)(CUcontext);
  [[nodiscard]] static Set set_current() {
    static const auto set = driver_function<Set>("cuCtxSetCurrent");
    return set;
  }

  Set set_;
  CUcontext context_;
};

/// Makes the device current on this thread; the destructor restores the previous context.
class OnDevice {
 public:
  explicit OnDevice(Ordinal ordinal) {
    // `cudaGetDevice` would report device 0 if there is no current context.
    int current = -1;
    if (before_.any()) check(cudaGetDevice(&current), "cudaGetDevice");
    if (current != static_cast<int>(ordinal)) bind(ordinal);
  }

 private:
  CurrentContext before_;
};

}  // namespace tessera::cuda
