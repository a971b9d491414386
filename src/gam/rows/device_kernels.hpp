// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/device_columns.hpp"
#include "gam/rows/layout.hpp"
#include "gam/rows/rows_view.hpp"
#include "gam/rows/stored_values.hpp"

#include <tessera/device/backend.hpp>
#include <tessera/device/module_cache.hpp>
#include <tessera/job/tile.hpp>

#include <cstdint>
#include <span>

/// The kernels of passes and predictions, and their launches.
namespace TESSERA_NAMESPACE::gam {

/// The kernels of a module on the current device, loaded once. Compiles nothing after `Job::compile`.
template <class Kernels>
[[nodiscard]] CompiledBackend<Kernels> load_kernels(const ModuleSource& source) {
  return probe_backend_with_compile(source.name, [&](const BackendContext& context) {
    return Kernels(context.modules->load(source, context.capability));
  });
}

/// Scratch bytes per row: predictors, stored values and starts.
[[nodiscard]] std::int64_t evaluation_bytes_per_row(const RowLayout& layout, const StoredValues& stored);

/// Sets the inputs of the evaluation, except rows and slices. Allocates scratch for `view.capacity` rows.
/// Empty `raw_coef`: predictors are not computed.
void set_evaluation(RowsView& view, const Rows& rows, const RowLayout& layout, const DeviceLayout& on_device,
                    const StoredValues& stored, std::span<const double> raw_coef,
                    std::span<const double> parameters, const Tile& tile);

/// family_kernels.cuh.
struct FamilyKernels {
  explicit FamilyKernels(const Module& module)
      : keep_rows(module.kernel("keep_rows")),
        keep_parameters(module.kernel("keep_parameters")),
        predict_means(module.kernel("predict_means")) {}

  KernelView keep_rows;
  KernelView keep_parameters;
  KernelView predict_means;
};

/// product_kernels.cuh.
struct ProductKernels {
  explicit ProductKernels(const Module& module)
      : form_partials(module.kernel("form_partials")),
        form_scalars(module.kernel("form_scalars")),
        accumulate(module.kernel("accumulate")),
        predict_rows(module.kernel("predict_rows")) {}

  KernelView form_partials;
  KernelView form_scalars;
  KernelView accumulate;
  KernelView predict_rows;
};

/// term_kernels.cuh.
class TermKernels {
 public:
  explicit TermKernels(const Module& module)
      : evaluate_curves_(module.kernel("evaluate_curves")),
        evaluate_terms_(module.kernel("evaluate_terms")),
        evaluate_dense_(module.kernel("evaluate_dense")),
        evaluate_many_dense_(module.kernel("evaluate_many_dense")) {}

  /// Evaluates the terms of the first `slices` slices of a batch, asynchronously on `stream`.
  void evaluate(const RowsView& batch, const RowLayout& layout, const StoredValues& stored, unsigned slices,
                StreamView stream) const;

 private:
  KernelView evaluate_curves_;
  KernelView evaluate_terms_;
  KernelView evaluate_dense_;
  KernelView evaluate_many_dense_;
};

}  // namespace TESSERA_NAMESPACE::gam
