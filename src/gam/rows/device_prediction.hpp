// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/kernel_source.hpp"
#include "gam/rows/layout.hpp"
#include "gam/rows/prediction.hpp"
#include "gam/rows/row_pass.hpp"
#include "gam/rows/stored_values.hpp"

#include <tessera/job/job.hpp>
#include <tessera/job/tile.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Predictions on GPUs. Columns are copied to the device part by part, and predictions back.
class DevicePrediction {
 public:
  /// `form`: see `variance_form`; if empty, no standard errors. All arguments must outlive this object.
  DevicePrediction(const Rows& rows, const RowLayout& layout, std::span<const double> raw_coef,
                   std::span<const double> form, bool response, std::shared_ptr<DeviceTable> table)
      : rows_(rows),
        layout_(layout),
        raw_coef_(raw_coef),
        form_(form),
        response_(response),
        stored_(layout, std::vector<bool>(layout.terms.size(), !form.empty())),
        table_(std::move(table)) {}

  /// Compiles the kernels before the pass. *Collective.*
  void compile(Job& job) const {
    (void)job.compile(modules().terms);
    (void)job.compile(modules().products);
    if (response_) (void)job.compile(modules().family);
  }

  /// Predicts `tile.range()`; `out` has one element per row. The tile's device must be current. Thread-safe
  /// for tiles of different devices. Throws `tessera::Error(job_fault)` that names a failed CUDA call.
  void predict(const Tile& tile, std::span<Prediction> out) const;

  /// Bytes of device memory per row.
  [[nodiscard]] std::int64_t bytes_per_row() const;

 private:
  [[nodiscard]] const RowModules& modules() const { return modules_.get(rows_.family, nullptr); }

  const Rows& rows_;
  const RowLayout& layout_;
  std::span<const double> raw_coef_;
  std::span<const double> form_;
  bool response_;  ///< predict means
  StoredValues stored_;
  LazyRowModules modules_;
  std::shared_ptr<DeviceTable> table_;
};

}  // namespace TESSERA_NAMESPACE::gam
