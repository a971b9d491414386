// SPDX-License-Identifier: Apache-2.0
#include "start_work.hpp"

#include <tessera/error.hpp>

#include <cuda_runtime.h>

#include <chrono>
#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace tessera::bench {
namespace {

constexpr unsigned threads_per_group = 256;

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    throw Error(ErrorCode::job_fault, std::string(what) + ": " + cudaGetErrorString(status));
}

__global__ void iterate_units(double* out, std::int64_t units, int rounds) {
  const std::int64_t unit = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (unit >= units) return;
  double value = 1 + static_cast<double>(unit % 1024);
  for (int round = 0; round < rounds; ++round) value = 0.999 * value + 0.001;
  out[unit] = value;
}

void launch(double* out, std::int64_t units, int rounds, cudaStream_t stream) {
  const auto groups = static_cast<unsigned>((units + threads_per_group - 1) / threads_per_group);
  iterate_units<<<groups, threads_per_group, 0, stream>>>(out, units, rounds);
  check(cudaGetLastError(), "the launch of a kernel");
  check(cudaStreamSynchronize(stream), "a kernel");
}

/// Calls `work(stream, memory)` for each GPU on a separate thread; `memory` has space for `units` doubles.
template <class Work>
void on_each_gpu(std::int64_t units, const Work& work) {
  int count = 0;
  check(cudaGetDeviceCount(&count), "the number of GPUs");
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (int gpu = 0; gpu < count; ++gpu) {
    threads.emplace_back([&, gpu] {
      try {
        cudaStream_t stream = nullptr;
        double* memory = nullptr;
        check(cudaSetDevice(gpu), "the choice of a GPU");
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
        check(cudaMalloc(&memory, static_cast<std::size_t>(units) * sizeof(double)), "memory of a GPU");
        work(stream, memory);
        check(cudaFree(memory), "memory of a GPU");
        check(cudaStreamDestroy(stream), "a stream");
      } catch (...) {
        failures[static_cast<std::size_t>(gpu)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace

void iterate_on_device(double* out, std::int64_t units, int rounds, StreamView stream) {
  launch(out, units, rounds, static_cast<cudaStream_t>(stream.native()));
}

double first_kernels_in_plain_cuda() {
  constexpr std::int64_t units = 1024;
  const auto start = std::chrono::steady_clock::now();
  on_each_gpu(units, [&](cudaStream_t stream, double* memory) { launch(memory, units, 1, stream); });
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void occupy_gpus(double seconds) {
  constexpr std::int64_t units = std::int64_t{1} << 20;
  constexpr int rounds = 20'000;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  on_each_gpu(units, [&](cudaStream_t stream, double* memory) {
    while (std::chrono::steady_clock::now() < end) launch(memory, units, rounds, stream);
  });
}

}  // namespace tessera::bench
