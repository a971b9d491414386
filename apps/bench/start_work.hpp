// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/stream.hpp>

#include <cstdint>

/// GPU work of the suites `start` and `balance`. In a build without CUDA: throws `Error(job_fault)`.
namespace tessera::bench {

/// Sets out[unit], in device memory, to the result of `rounds` dependent steps, and waits for the kernel.
void iterate_on_device(double* out, std::int64_t units, int rounds, StreamView stream);

/// Seconds until a first kernel has ended on each visible GPU, with one thread per GPU, in plain CUDA:
/// without Tessera's probe and claim.
[[nodiscard]] double first_kernels_by_hand();

/// Keeps each visible GPU busy without a claim, like an unrelated program.
void occupy_gpus(double seconds);

}  // namespace tessera::bench
