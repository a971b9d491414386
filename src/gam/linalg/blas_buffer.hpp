// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

namespace TESSERA_NAMESPACE::gam {

/// Holds a buffer of OpenBLAS during a call of this thread. OpenBLAS maps one buffer per concurrent call and
/// keeps it for later calls; in a limited address space without room it retries forever. So buffers are
/// mapped ahead, by the first call and whenever concurrency grows, after the running calls have ended; a call
/// without a buffer waits for another to end. With a serial OpenBLAS, which must not be called by several
/// threads, calls run one at a time. A call must not wait for another itself. No effect with another BLAS.
/// Cost: below a microsecond.
class BlasBuffer {
 public:
  /// Throws std::bad_alloc if there is no room for a single buffer.
  BlasBuffer();
  ~BlasBuffer();
  BlasBuffer(const BlasBuffer&) = delete;
  BlasBuffer& operator=(const BlasBuffer&) = delete;
};

}  // namespace TESSERA_NAMESPACE::gam
