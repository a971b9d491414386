// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/device_staging.hpp"

#include "gam/rows/device_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tessera::gam {
namespace {

/// So large that waking the threads is little of the time of copying one.
constexpr std::size_t piece_bytes = std::size_t{16} << 20;
/// What a host thread copies at a time.
constexpr std::int64_t run_bytes = std::int64_t{1} << 20;
/// Copies of less do not pay for pieces and threads.
constexpr std::size_t least_bytes = std::size_t{4} << 20;

}  // namespace

void DeviceStaging::prepare() {
  if (team_) return;
  for (Piece& piece : pieces_) {
    piece.memory = PinnedMemory(piece_bytes, context_);
    piece.copied.emplace(context_);
  }
  team_.emplace(threads_);
}

void DeviceStaging::copy(void* to, const void* from, std::size_t bytes) {
  team_->for_each_block({0, static_cast<std::int64_t>(bytes)}, run_bytes, [&](int /*thread*/, Range run) {
    std::memcpy(static_cast<std::byte*>(to) + run.begin, static_cast<const std::byte*>(from) + run.begin,
                static_cast<std::size_t>(run.size()));
  });
}

void DeviceStaging::upload(void* device, const void* host, std::size_t bytes, StreamView stream) {
  if (bytes < least_bytes) {
    check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, native(stream)), "copy to the device");
    return;
  }
  prepare();
  std::size_t next = 0;
  for (std::size_t begin = 0; begin < bytes; begin += piece_bytes, ++next) {
    Piece& piece = pieces_[next % pieces_.size()];
    const std::size_t size = std::min(piece_bytes, bytes - begin);
    piece.copied->synchronize();
    copy(piece.memory.data(), static_cast<const std::byte*>(host) + begin, size);
    check(cudaMemcpyAsync(static_cast<std::byte*>(device) + begin, piece.memory.data(), size,
                          cudaMemcpyHostToDevice, native(stream)),
          "copy to the device");
    piece.copied->record(stream);
  }
}

void DeviceStaging::download(void* host, const void* device, std::size_t bytes, StreamView stream) {
  if (bytes < least_bytes) {
    check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, native(stream)),
          "copy from the device");
    check(cudaStreamSynchronize(native(stream)), "copy from the device");
    return;
  }
  prepare();
  const std::size_t count = (bytes - 1) / piece_bytes + 1;
  const auto size_of = [&](std::size_t i) { return std::min(piece_bytes, bytes - i * piece_bytes); };
  // As many pieces as there are on the bus, then each is copied out and sent for another part.
  for (std::size_t i = 0; i < count + pieces_.size(); ++i) {
    Piece& piece = pieces_[i % pieces_.size()];
    if (i >= pieces_.size() && i - pieces_.size() < count) {
      const std::size_t done = i - pieces_.size();
      piece.copied->synchronize();
      copy(static_cast<std::byte*>(host) + done * piece_bytes, piece.memory.data(), size_of(done));
    }
    if (i >= count) continue;
    check(cudaMemcpyAsync(piece.memory.data(), static_cast<const std::byte*>(device) + i * piece_bytes,
                          size_of(i), cudaMemcpyDeviceToHost, native(stream)),
          "copy from the device");
    piece.copied->record(stream);
  }
}

}  // namespace tessera::gam
