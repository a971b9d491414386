// SPDX-License-Identifier: Apache-2.0
#include <tessera/version.hpp>

namespace TESSERA_NAMESPACE {

const char* version() noexcept {
  return TESSERA_VERSION;
}

}  // namespace TESSERA_NAMESPACE
