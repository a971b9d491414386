// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "suite.hpp"

namespace tessera::bench {

/// A device that is lost in a pass: the time until the pass is committed by the others, beside one that loses
/// none.
[[nodiscard]] Suite exclude_suite();

}  // namespace tessera::bench
