// SPDX-License-Identifier: Apache-2.0
#include "allocators.hpp"

namespace tessera::bench {

std::vector<PeerAllocator> torch_caching() {
  return {};
}

}  // namespace tessera::bench
