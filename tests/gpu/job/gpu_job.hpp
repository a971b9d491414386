// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/job_on_gpus.hpp"
#include "gpu/kernels.hpp"

#include <tessera/memory/arena.hpp>

#include <cuda_runtime.h>

#include <span>
#include <stdexcept>
#include <string>

/// Common parts of the tests on real devices: a pass with the host's arithmetic, bit by bit.
namespace tessera::testing {

inline void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

inline cudaStream_t native(const Tile& tile) {
  return static_cast<cudaStream_t>(tile.stream().native());
}

/// An array in the tile's arena.
template <class T>
class DeviceArray {
 public:
  DeviceArray(const Tile& tile, std::size_t size)
      : stream_(native(tile)), size_(size), data_(tile.arena().take<T>(size)) {}
  DeviceArray(const Tile& tile, std::span<const T> values) : DeviceArray(tile, values.size()) {
    check(cudaMemcpyAsync(data_, values.data(), values.size_bytes(), cudaMemcpyHostToDevice, stream_));
  }

  [[nodiscard]] T* data() const { return data_; }
  void copy_to(std::span<T> out) const {
    check(cudaMemcpyAsync(out.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost, stream_));
    check(cudaStreamSynchronize(stream_));
  }

 private:
  cudaStream_t stream_;
  std::size_t size_;
  T* data_;
};

inline unsigned blocks_for(std::size_t threads) {
  return static_cast<unsigned>((threads + 127) / 128);
}

inline void map_on_device(const Tile& tile, std::span<const double> in, std::span<double> out) {
  const DeviceArray<double> units(tile, in);
  const DeviceArray<double> results(tile, out.size());
  launch_map(blocks_for(in.size()), 128, native(tile), units.data(), results.data(), in.size());
  check(cudaGetLastError());
  results.copy_to(out);
}

inline void map_on_host(const HostTile&, std::span<const double> in, std::span<double> out) {
  std::ranges::transform(in, out.begin(), unit_result);
}

}  // namespace tessera::testing
