// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/rows_view.hpp"

#include <tessera/error.hpp>
#include <tessera/job/tile.hpp>
#include <tessera/memory/arena.hpp>
#include <tessera/memory/buffer_pool.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// Device memory and copies to it, for passes over rows.
namespace TESSERA_NAMESPACE::gam {

inline void check(cudaError_t status, const std::string& what) {
  if (status == cudaSuccess) return;
  throw Error(ErrorCode::job_fault,
              what + ": " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")");
}

inline cudaStream_t native(StreamView stream) {
  return static_cast<cudaStream_t>(stream.native());
}
inline cudaStream_t stream_of(const Tile& tile) {
  return native(tile.stream());
}

/// Copies from pageable memory, which may be reused on return: CUDA has staged it by then.
template <class T>
void upload(T* to, const T* host, std::size_t count, const Tile& tile) {
  if (count == 0) return;
  check(cudaMemcpyAsync(to, host, count * sizeof(T), cudaMemcpyHostToDevice, stream_of(tile)),
        "copy of " + std::to_string(count * sizeof(T)) + " bytes to the device");
}

/// A device copy that the caller owns.
template <class T>
Buffer<T> kept(const T* host, std::size_t count, const Tile& tile) {
  Buffer<T> buffer = tile.buffers().take<T>(count, tile.stream());
  upload(buffer.data(), host, count, tile);
  return buffer;
}
template <class T>
Buffer<T> kept(const std::vector<T>& host, const Tile& tile) {
  return kept(host.data(), host.size(), tile);
}

/// Uninitialised device memory, valid until the tile's function returns.
template <class T>
T* scratch(std::int64_t count, const Tile& tile) {
  return tile.arena().take<T>(static_cast<std::size_t>(count));
}

/// A device copy in scratch memory.
template <class T>
const T* uploaded(std::span<const T> host, const Tile& tile) {
  T* const copy = scratch<T>(std::ssize(host), tile);
  upload(copy, host.data(), host.size(), tile);
  return copy;
}
template <class T>
const T* uploaded(const std::vector<T>& host, const Tile& tile) {
  return uploaded(std::span<const T>(host), tile);
}

inline unsigned blocks_for(std::int64_t threads) {
  return static_cast<unsigned>((threads + threads_per_block - 1) / threads_per_block);
}

}  // namespace TESSERA_NAMESPACE::gam
