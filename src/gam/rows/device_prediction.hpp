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

/// Predictions of rows on GPUs, one thread per row. A tile's columns are copied to its device part by part,
/// and the predictions back.
class DevicePrediction {
 public:
  /// `form`: see `variance_form`; empty: no standard errors. All arguments must outlive this object.
  DevicePrediction(const Rows& rows, const RowLayout& layout, std::span<const double> raw_coef,
                   std::span<const double> form, bool response, std::shared_ptr<DeviceTable> table)
      : rows_(rows),
        layout_(layout),
        raw_coef_(raw_coef),
        form_(form),
        response_(response),
        stored_(layout, std::vector<bool>(layout.terms.size(), !form.empty())),
        table_(std::move(table)) {}

  /// Compiles the kernels for the job, before the pass, as for `DeviceRows`. *Collective.*
  void compile(Job& job) const {
    (void)job.compile(modules().terms);
    (void)job.compile(modules().products);
    if (response_) (void)job.compile(modules().family);
  }

  /// Predicts the rows of `tile.range()`; `out` has one element for each. Thread-safe for tiles of different
  /// devices; the tile's device is current. Throws `tessera::Error(job_fault)` naming the CUDA call that
  /// failed.
  void predict(const Tile& tile, std::span<Prediction> out) const;

  /// Bytes of device memory that a row of a part takes.
  [[nodiscard]] std::int64_t bytes_per_row() const;

 private:
  [[nodiscard]] const RowModules& modules() const { return modules_.get(rows_.family, nullptr); }

  const Rows& rows_;
  const RowLayout& layout_;
  std::span<const double> raw_coef_;
  std::span<const double> form_;
  bool response_;  ///< whether means are predicted
  StoredValues stored_;
  LazyRowModules modules_;
  std::shared_ptr<DeviceTable> table_;
};

}  // namespace TESSERA_NAMESPACE::gam
