// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/stream.hpp>

#include <cstdint>

/// What the suites `start` and `balance` run on GPUs. In a build without CUDA these throw `Error(job_fault)`.
namespace tessera::bench {

/// out[unit] = the end of `rounds` steps that depend on each other. Returns once it is computed; `out` is
/// device memory.
void iterate_on_device(double* out, std::int64_t units, int rounds, StreamView stream);

/// Seconds until a first kernel has ended on each GPU that this process sees, on a thread each: what a
/// program for these GPUs alone takes, which looks for nothing else and agrees with nobody.
[[nodiscard]] double first_kernels_by_hand();

/// Keeps each GPU that this process sees busy, as another program would, which claims nothing.
void occupy_gpus(double seconds);

}  // namespace tessera::bench
