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

/// Copies between pageable memory of the host and one device, in pieces through pinned memory: each host
/// thread takes the next piece, copies it to pinned memory while pieces of other threads cross the bus, and
/// submits its transfer. CUDA itself copies pageable memory on one thread, at a fraction of the bus' rate.
/// To be used by one thread at a time, the thread of a tile, on which the device's context is current. The
/// destructor waits for the streams used. On a simulated device, whose memory is the host's, it copies
/// directly.
class TESSERA_EXPORT DeviceStaging {
 public:
  /// Starts `threads` host threads at first use, each of which pins some pieces.
  DeviceStaging(const DeviceContext& context, int threads) : context_(&context), threads_(threads) {}

  /// Copies from the host to the device, in stream order. The host's memory may change after the call, even
  /// if the last copies are not complete. Throws `Error(job_fault)` naming the CUDA call that failed.
  void upload(void* device, const void* host, std::size_t bytes, StreamView stream);
  /// Copies from the device to the host, in stream order. The host's memory is complete after the call.
  void download(void* host, const void* device, std::size_t bytes, StreamView stream);

 private:
  struct Piece {
    PinnedMemory memory;
    std::optional<Event> copied;  ///< recorded after the last copy from or to the piece
  };
  /// The pieces of one thread, used in turn.
  struct Ring {
    std::vector<Piece> pieces;
    std::size_t next = 0;
  };
  void prepare();
  /// Calls `work` for each piece of a copy of `bytes` on the threads; the device's context is bound to each.
  void for_each_piece(std::size_t bytes,
                      FunctionRef<void(Piece& piece, std::size_t begin, std::size_t size)> work);

  detail::Held<const DeviceContext*, "DeviceStaging"> context_;
  int threads_;
  std::optional<HostTeam> team_;
  std::vector<Ring> rings_;
};

}  // namespace TESSERA_NAMESPACE
