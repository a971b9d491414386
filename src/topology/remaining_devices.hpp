// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "partition/replan.hpp"

#include <tessera/topology/inventory.hpp>

namespace tessera::inline TESSERA_ABI::detail {

/// What plans are made of.
[[nodiscard]] RemainingDevices remaining_devices(const Inventory& inventory);

}  // namespace tessera::inline TESSERA_ABI::detail
