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

/// Columns of a frame on the devices of this rank, shared by all passes over its rows: each column is
/// transferred once, as far as device memory holds the rows. The frame must not change meanwhile.
class DeviceTable;

/// An empty table for the devices of a job; null in a build without CUDA. On a device it uses at most the
/// tile's memory budget, and at most `device_bytes`.
[[nodiscard]] std::shared_ptr<DeviceTable> make_device_table(
    const Job& job, std::int64_t device_bytes = std::numeric_limits<std::int64_t>::max());

/// A column of a table with the name of its variable.
struct NamedNumbers {
  std::string name;
  const ColumnNumbers* numbers;
};

/// Starts to copy columns to the devices of this rank's tiles while the table is parsed, concurrently with
/// the start of contexts. Returns the receiver of the parsed numbers, valid as long as the table; null if
/// nothing is copied. Passes over a frame whose variables are in the same memory find them on the devices.
/// Requires the job's `DeviceTurn`; the job must outlive the table.
///
/// `bytes_per_row`: at least that of the later frame. Devices that cannot hold their whole tile, and failed
/// devices, get nothing now: the first pass copies what is missing, or reports the error.
[[nodiscard]] NumberTaker* begin_upload(DeviceTable& table, Job& job, const Plan& plan,
                                        const std::vector<NamedNumbers>& columns, std::int64_t bytes_per_row);

}  // namespace TESSERA_NAMESPACE::gam
