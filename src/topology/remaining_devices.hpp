// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "partition/replan.hpp"

#include <tessera/topology/inventory.hpp>

namespace TESSERA_NAMESPACE::detail {

/// The devices of an inventory in the form that plans use.
[[nodiscard]] RemainingDevices remaining_devices(const Inventory& inventory);

}  // namespace TESSERA_NAMESPACE::detail
