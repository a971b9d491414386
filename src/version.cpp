// SPDX-License-Identifier: Apache-2.0
#include <tessera/version.hpp>

namespace tessera::inline TESSERA_ABI {

const char* version() noexcept {
  return TESSERA_VERSION;
}

}  // namespace tessera::inline TESSERA_ABI
