// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "suite.hpp"

namespace tessera::bench {

/// A solver that iterates over arrays on the devices, beside the same loop by hand.
[[nodiscard]] Suite resident_suite();

}  // namespace tessera::bench
