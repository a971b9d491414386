// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

namespace TESSERA_NAMESPACE::gam {

/// Holds a buffer of OpenBLAS during a call of this thread. OpenBLAS maps one buffer per concurrent call and
/// keeps it for later calls; if a limited address space has no room, it retries forever. Buffers are
/// therefore mapped ahead, at the first call and whenever concurrency grows, after the running calls have
/// ended; a call without a buffer waits until another call ends. With a serial OpenBLAS, which several
/// threads must not call, calls run one at a time. A call must not itself wait for another call. No effect
/// with another BLAS. Cost: below a microsecond.
class BlasBuffer {
 public:
  /// Throws std::bad_alloc if there is not room for even one buffer.
  BlasBuffer();
  ~BlasBuffer();
  BlasBuffer(const BlasBuffer&) = delete;
  BlasBuffer& operator=(const BlasBuffer&) = delete;
};

}  // namespace TESSERA_NAMESPACE::gam
