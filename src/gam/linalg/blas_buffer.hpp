// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

namespace TESSERA_NAMESPACE::gam {

/// A buffer of OpenBLAS for a call of this thread. OpenBLAS maps one for each call that runs at the same time
/// as others and keeps it for later calls; where the address space is limited and has no room, it retries for
/// ever. Here buffers are mapped ahead, by the first call and whenever more calls run at once than before,
/// once those that run have ended; a call without a buffer waits for that of another, as all do that run at
/// the same time by a serial OpenBLAS, which is not to be called by several threads. A call must not wait for
/// another itself. With another BLAS it does nothing. Cost: below a microsecond.
class BlasBuffer {
 public:
  /// Throws std::bad_alloc if there is no room for any.
  BlasBuffer();
  ~BlasBuffer();
  BlasBuffer(const BlasBuffer&) = delete;
  BlasBuffer& operator=(const BlasBuffer&) = delete;
};

}  // namespace TESSERA_NAMESPACE::gam
