// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/frame/number_taker.hpp"

#include <tessera/job/job.hpp>
#include <tessera/partition/plan.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Columns of a frame on the devices of this rank, where all passes over its rows find them: each column
/// crosses the bus once, as far as the devices' memory holds the rows. The frame must not change meanwhile.
class DeviceTable;

/// One for the devices of a job, empty yet; null in a build without CUDA. It takes no more of a device's
/// memory than the tile's budget, nor than `device_bytes`.
[[nodiscard]] std::shared_ptr<DeviceTable> make_device_table(
    const Job& job, std::int64_t device_bytes = std::numeric_limits<std::int64_t>::max());

/// A column of a table, by the name of its variable.
struct NamedNumbers {
  std::string name;
  const ColumnNumbers* numbers;
};

/// Begins to copy columns to the devices of this rank's tiles while the table is read: contexts start, and
/// columns cross the bus, beside that. Returns what is to be given the numbers that are read, as long as the
/// table exists; null where nothing is copied. Passes over a frame whose variables are in the same memory
/// find them there. The job has its turn (`DeviceTurn`), and outlives the table.
///
/// `bytes_per_row`: at least what the frame will have. A device that does not hold its whole tile gets
/// nothing ahead. Nor does one that fails: the first pass copies what is not there, and reports the fault.
[[nodiscard]] NumberTaker* begin_upload(DeviceTable& table, Job& job, const Plan& plan,
                                        const std::vector<NamedNumbers>& columns, std::int64_t bytes_per_row);

}  // namespace TESSERA_NAMESPACE::gam
