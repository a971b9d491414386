// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/vectors.hpp"

namespace tessera::apps {

/// The vector instructions of this process, e.g. "AVX2".
inline const char* instruction_set() {
  return base::instruction_set();
}

}  // namespace tessera::apps
