// SPDX-License-Identifier: Apache-2.0
#include <tessera/memory/upstream.hpp>

#include "device/context_access.hpp"
#include "memory/cuda_upstream.hpp"

namespace TESSERA_NAMESPACE {

std::unique_ptr<MemoryUpstream> make_upstream(const DeviceContext& context) {
  if (context.info().has_host_memory())
    return make_host_upstream(static_cast<std::size_t>(context.info().total_memory_bytes));
  context.bind();
  return cuda::make_upstream(context.ordinal(), detail::ContextAccess::keep_streams(context));
}

}  // namespace TESSERA_NAMESPACE
