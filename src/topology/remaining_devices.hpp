// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "partition/replan.hpp"

#include <tessera/topology/inventory.hpp>

namespace TESSERA_NAMESPACE::detail {

/// Converts an inventory for `recut` and `replanned`.
[[nodiscard]] RemainingDevices remaining_devices(const Inventory& inventory);

}  // namespace TESSERA_NAMESPACE::detail
