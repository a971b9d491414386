// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "suite.hpp"

namespace tessera::bench {

[[nodiscard]] Suite stream_suite();

}  // namespace tessera::bench
