// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/crossproduct_plan.hpp"
#include "gam/rows/kernel_source.hpp"
#include "gam/rows/layout.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/job/reproducible_sum.hpp>
#include <tessera/job/tile.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>

namespace TESSERA_NAMESPACE::gam {

/// The pass over rows on GPUs. The first pass copies the columns of a tile to its device, where they stay.
/// Rows that exceed the device's memory are transferred again, part by part, in every pass.
///
/// Rows are summed in slices of fixed length and order, and slices by a reproducible sum. The result does not
/// depend on the number of devices, the parts of a tile, or the number of concurrent slices.
class DeviceRows {
 public:
  DeviceRows(const Rows& rows, const RowLayout& layout, std::int64_t block_rows,
             std::shared_ptr<DeviceTable> table);
  ~DeviceRows();
  DeviceRows(const DeviceRows&) = delete;
  DeviceRows& operator=(const DeviceRows&) = delete;

  /// The kernels of the pass, to be compiled before it (`Job::compile`). `add` throws if compilation failed.
  [[nodiscard]] const RowModules& modules() { return modules_.get(rows_.family, &cross_); }

  /// Adds the sums over `tile.range()` to `sum`. The tile's device must be current. Thread-safe for tiles of
  /// different devices. Throws `tessera::Error(job_fault)` that names a failed CUDA call.
  void add(PassKind kind, std::span<const double> raw_coef, const Tile& tile, ReproducibleSum& sum);

 private:
  struct OnDevice;
  [[nodiscard]] OnDevice& on_device(int index);

  const Rows& rows_;
  const RowLayout& layout_;
  std::int64_t block_rows_;
  CrossPlan cross_;
  LazyRowModules modules_;
  std::shared_ptr<DeviceTable> table_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<OnDevice>> devices_;  ///< by `Tile::device_index`
};

}  // namespace TESSERA_NAMESPACE::gam
