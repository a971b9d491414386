// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/context.hpp>
#include <tessera/device/stream.hpp>
#include <tessera/function.hpp>
#include <tessera/held.hpp>
#include <tessera/job/host_team.hpp>
#include <tessera/memory/pinned.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace TESSERA_NAMESPACE {

/// Copies between pageable host memory and one device, in pieces through pinned memory. Each of several host
/// threads copies the next piece to its pinned memory and submits the transfer, while other pieces are in
/// transfer. (CUDA's own copies of pageable memory use one thread, at a fraction of the bus bandwidth.) If
/// the device is simulated, and its memory thus host memory, the copy is direct.
///
/// Not thread-safe: call it on one thread at a time, with the device's context current. The destructor waits
/// for the streams used.
class TESSERA_EXPORT DeviceStaging {
 public:
  /// The first large copy starts `threads` host threads; each allocates its pinned memory on first use.
  DeviceStaging(const DeviceContext& context, int threads) : context_(&context), threads_(threads) {}

  /// Copies from the host to the device, in stream order. `host` may be overwritten after the call, even
  /// before the transfer is complete. Throws `Error(job_fault)` naming the CUDA call that failed.
  void upload(void* device, const void* host, std::size_t bytes, StreamView stream);
  /// Copies from the device to the host, in stream order. Blocks until `host` has all data.
  void download(void* host, const void* device, std::size_t bytes, StreamView stream);

 private:
  struct Piece {
    PinnedMemory memory;
    std::optional<Event> copied;  ///< recorded after the last transfer from or to `memory`
  };
  /// The pinned memory of one thread, used round robin.
  struct Ring {
    std::vector<Piece> pieces;
    std::size_t next = 0;
  };
  void prepare();
  /// Calls `work` on the host threads for each piece of a copy of `bytes`, with the device's context current.
  void for_each_piece(std::size_t bytes,
                      FunctionRef<void(Piece& piece, std::size_t begin, std::size_t size)> work);

  detail::Held<const DeviceContext*, "DeviceStaging"> context_;
  int threads_;
  std::optional<HostTeam> team_;
  std::vector<Ring> rings_;
};

}  // namespace TESSERA_NAMESPACE
