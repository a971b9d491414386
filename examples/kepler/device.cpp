// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <stdexcept>

#include "kepler.hpp"

namespace {

void copy(void* to, const void* from, std::size_t bytes, tessera::StreamView stream) {
  const cudaError_t status =
      cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, static_cast<cudaStream_t>(stream.native()));
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

/// A copy on the device of the calling thread, for the tile at hand: what has no tile asks for what it needs
/// of it.
double* upload(std::span<const double> values) {
  const tessera::BackendContext backend = tessera::probe_backend("upload");
  auto* const uploaded = backend.arena->take<double>(values.size());
  copy(uploaded, values.data(), values.size_bytes(), backend.stream);
  return uploaded;
}

}  // namespace

void kepler_on_device(tessera::Tile& tile, std::span<const double> mean, std::span<double> eccentric) {
  // The function is called at the first tile of each device. What it returns stays with the device.
  const auto [backend, kernel] = tessera::probe_backend_with_compile(
      "kepler", [](const tessera::BackendContext& context) -> tessera::KernelView {
        return context.modules->load(kepler_source, context.capability).kernel("kepler");
      });
  const double* on_device = upload(mean);
  auto* const result = tile.arena().take<double>(eccentric.size());
  const auto count = static_cast<long long>(mean.size());
  constexpr unsigned threads = 256;
  const auto blocks = static_cast<unsigned>((mean.size() + threads - 1) / threads);
  launch(*kernel, {blocks}, {threads}, 0, backend.stream, on_device, result, count);
  copy(eccentric.data(), result, eccentric.size_bytes(), backend.stream);
}
