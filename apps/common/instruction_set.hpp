// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/vectors.hpp"

namespace tessera::apps {

inline const char* instruction_set() {
  return base::instruction_set();
}

}  // namespace tessera::apps
