// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/context_access.hpp"
#include "memory/cuda_upstream.hpp"

#include <tessera/device/context.hpp>

#include <memory>

namespace tessera::testing {

/// The result of `make_upstream` for a driver without memory pools.
inline std::unique_ptr<MemoryUpstream> make_malloc_upstream(const DeviceContext& context) {
  context.bind();
  return cuda::make_malloc_upstream(context.ordinal(), detail::ContextAccess::keep_streams(context));
}

}  // namespace tessera::testing
