// SPDX-License-Identifier: Apache-2.0
#include <tessera/error.hpp>
#include <tessera/held.hpp>

#include <string>

namespace TESSERA_NAMESPACE {

void detail::refuse_moved_from(const char* type) {
  throw Error(ErrorCode::usage,
              "this " + std::string(type) + " was moved from: use the object that it was moved to");
}

}  // namespace TESSERA_NAMESPACE
