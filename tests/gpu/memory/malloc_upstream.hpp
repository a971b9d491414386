// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/context_access.hpp"
#include "memory/cuda_upstream.hpp"

#include <tessera/device/context.hpp>

#include <memory>

namespace tessera::testing {

/// What `make_upstream` gives where the driver has no memory pools.
inline std::unique_ptr<MemoryUpstream> make_malloc_upstream(const DeviceContext& context) {
  context.bind();
  return cuda::make_malloc_upstream(context.ordinal(), detail::ContextAccess::keep_streams(context));
}

}  // namespace tessera::testing
