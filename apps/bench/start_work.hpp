// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/stream.hpp>

#include <cstdint>

/// GPU work of the suites `start` and `balance`. Without CUDA, each function throws `Error(job_fault)`.
namespace tessera::bench {

/// Sets out[unit], in device memory, to the result of `rounds` dependent steps, and waits for the kernel.
void iterate_on_device(double* out, std::int64_t units, int rounds, StreamView stream);

/// Seconds to the end of a first kernel on each visible GPU, in plain CUDA with one thread per GPU. A job
/// also probes and claims the devices.
[[nodiscard]] double first_kernels_in_plain_cuda();

/// Keeps each visible GPU busy for this time without a claim, like an unrelated program.
void occupy_gpus(double seconds);

}  // namespace tessera::bench
