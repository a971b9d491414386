// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/stream.hpp>
#include <tessera/error.hpp>

#include <cuda_runtime.h>

#include <string>

namespace tessera::bench {

/// Throws `Error(job_fault)` with what was done and the runtime's reason unless `status` is success.
inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    throw Error(ErrorCode::job_fault, std::string(what) + ": " + cudaGetErrorString(status));
}

inline cudaStream_t native(StreamView stream) {
  return static_cast<cudaStream_t>(stream.native());
}

}  // namespace tessera::bench
