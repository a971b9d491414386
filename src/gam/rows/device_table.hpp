// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/job.hpp>

#include <cstdint>
#include <limits>
#include <memory>

namespace TESSERA_NAMESPACE::gam {

/// Columns of a frame on the devices of this rank, where all passes over its rows find them: each column
/// crosses the bus once, as far as the devices' memory holds the rows. The frame must not change meanwhile.
class DeviceTable;

/// One for the devices of a job, empty yet; null in a build without CUDA. It takes no more of a device's
/// memory than the tile's budget, nor than `device_bytes`.
[[nodiscard]] std::shared_ptr<DeviceTable> make_device_table(
    const Job& job, std::int64_t device_bytes = std::numeric_limits<std::int64_t>::max());

}  // namespace TESSERA_NAMESPACE::gam
