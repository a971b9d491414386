// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/device_info.hpp>
#include <tessera/version.hpp>

#include <string_view>
#include <vector>

namespace tessera::inline TESSERA_ABI {

/// The simulated devices that `text` gives to `rank`, in the language of TESSERA_SIMULATE:
///
///     rank0:2xH200; rank1:T4; *:A100+T4          // rank 0 has two H200, rank 1 a T4, the others both
///     *:H200@node                                // one H200 that all ranks of the node see
///
/// Entries are separated by `;`; each is `rankN` or `*`, a colon, and models joined by `+` with an
/// optional count `Nx`. Without `@node` a device is the rank's own; with it, at the end of an entry, the
/// n-th device of that entry has one UUID for all ranks of a node. Known models: H200, H100, A100, L40S,
/// V100, T4. The first entry that names the rank counts; a rank that none names has no device. Every
/// entry is read on every rank, so that all ranks refuse a mistake alike. An empty TESSERA_SIMULATE is as
/// good as none.
///
/// Everything but the tile's work is real: inventory, claim, plan, scatter and verdict run as they
/// would, and the work of a tile runs on the host. Throws `Error(usage)` naming what it cannot read.
[[nodiscard]] TESSERA_EXPORT std::vector<DeviceInfo> simulated_devices(std::string_view text, int rank);

}  // namespace tessera::inline TESSERA_ABI
