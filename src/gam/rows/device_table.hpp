// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/number_taker.hpp"

#include <tessera/job/job.hpp>
#include <tessera/partition/plan.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Cache of a frame's columns on this rank's devices, shared by all passes over its rows. If the rows fit,
/// each column is transferred once. The frame must not change meanwhile.
class DeviceTable;

/// An empty cache; null in a build without CUDA. Limits per device: the tile's memory budget, `device_bytes`.
[[nodiscard]] std::shared_ptr<DeviceTable> make_device_table(
    const Job& job, std::int64_t device_bytes = std::numeric_limits<std::int64_t>::max());

struct NamedNumbers {
  std::string name;
  const ColumnNumbers* numbers;
};

/// Starts copying columns to the devices of this rank's tiles while the table is parsed, concurrently with
/// the creation of CUDA contexts. Returns the receiver of parsed numbers, owned by `table`; null if nothing
/// is copied. Later passes over a frame that refers to the same memory find the columns on the devices.
/// Requires the job's `DeviceTurn`; the job must outlive the table.
///
/// `bytes_per_row`: at least the later frame's. Skips devices that fail, or cannot hold their whole tile: the
/// first pass copies missing columns, or reports the error.
[[nodiscard]] NumberTaker* begin_upload(DeviceTable& table, Job& job, const Plan& plan,
                                        const std::vector<NamedNumbers>& columns, std::int64_t bytes_per_row);

}  // namespace TESSERA_NAMESPACE::gam
