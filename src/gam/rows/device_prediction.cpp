// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/device_prediction.hpp"

#include "gam/rows/columns.hpp"
#include "gam/rows/device_columns.hpp"
#include "gam/rows/device_kernels.hpp"
#include "gam/rows/device_memory.hpp"
#include "gam/rows/slice_batch.hpp"

#include <algorithm>

namespace TESSERA_NAMESPACE::gam {
namespace {

static_assert(sizeof(Prediction) == 2 * sizeof(double));

/// Rows per batch: few enough for the device's cache, enough for all multiprocessors.
constexpr std::int64_t max_rows_at_once = std::int64_t{1} << 17;

}  // namespace

std::int64_t DevicePrediction::bytes_per_row() const {
  return column_bytes_per_row(rows_) + std::int64_t{sizeof(Prediction)} +
         evaluation_bytes_per_row(layout_, stored_);
}

void DevicePrediction::predict(const Tile& tile, std::span<Prediction> out) const {
  if (out.empty()) return;
  const auto terms = load_kernels<TermKernels>(modules().terms);
  const auto products = load_kernels<ProductKernels>(modules().products);
  DeviceLayout layout;
  layout.load(layout_, tile);
  TileColumns& on = table_->of(tile, *terms.context.device);
  on.resident.reserve(rows_, tile.range().size(), tile);
  on.resident.load(rows_, tile.range(), on.staging, tile.stream());

  // Each batch is one slice.
  SliceBatchView batch{};
  batch.rows = std::ssize(out);
  batch.slice_rows = static_cast<int>(std::min(batch.rows, max_rows_at_once));
  batch.block_rows = batch.capacity = batch.slice_rows;
  batch.slices_per_block = 1;
  batch.columns = on.resident.view();
  set_evaluation(batch, rows_, layout_, layout, stored_, raw_coef_, rows_.family.parameters(), tile);

  PredictionView prediction{};
  if (!form_.empty()) {
    const auto of_terms = layout_.products_of_terms();
    prediction.form = uploaded(form_, tile);
    prediction.products = layout.view().products + (of_terms.data() - layout_.all_products.data());
    prediction.product_count = static_cast<int>(of_terms.size());
  }
  prediction.out = scratch<double>(2 * batch.rows, tile);
  const tessera::Extent grid{blocks_for(batch.slice_rows), 1};
  constexpr tessera::Extent block{threads_per_block};
  for (; batch.first_slice * batch.slice_rows < batch.rows; ++batch.first_slice) {
    if (tile.stopping()) return;
    terms.built->evaluate(batch, layout_, stored_, 1, tile.stream());
    launch(products.built->predict_rows, grid, block, 0, tile.stream(), batch, prediction);
    if (response_)
      launch(load_kernels<FamilyKernels>(modules().family).built->predict_means, grid, block, 0,
             tile.stream(), batch, prediction);
  }
  on.staging.download(out.data(), prediction.out, out.size_bytes(), tile.stream());
}

}  // namespace TESSERA_NAMESPACE::gam
