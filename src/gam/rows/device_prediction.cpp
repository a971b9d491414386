// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/device_prediction.hpp"

#include "gam/rows/columns.hpp"
#include "gam/rows/device_columns.hpp"
#include "gam/rows/device_memory.hpp"
#include "gam/rows/prediction_view.hpp"

#include <tessera/device/backend.hpp>

#include <algorithm>

namespace TESSERA_NAMESPACE::gam {
namespace {

static_assert(sizeof(Prediction) == 2 * sizeof(double));

/// Number of rows with values in scratch memory at once: few enough for the device's cache, enough for all
/// multiprocessors.
constexpr std::int64_t max_rows_at_once = std::int64_t{1} << 17;

struct PredictionKernel {
  KernelView predict;
};

}  // namespace

std::int64_t DevicePrediction::scratch_bytes_per_row() const {
  if (form_.empty()) return 0;
  const LayoutView view = layout_.view();
  return std::int64_t{sizeof(double)} * view.values_per_row +
         std::int64_t{sizeof(int)} * view.placement_count;
}

std::int64_t DevicePrediction::bytes_per_row() const {
  return column_bytes_per_row(rows_) + std::int64_t{sizeof(Prediction)} + scratch_bytes_per_row();
}

void DevicePrediction::predict(const Tile& tile, std::span<Prediction> out) const {
  if (out.empty()) return;
  const auto backend = probe_backend_with_compile(source_.name, [&](const BackendContext& context) {
    return PredictionKernel{context.modules->load(source_, context.capability).kernel("predict")};
  });
  DeviceLayout layout;
  layout.load(layout_, tile);
  TileColumns& on = table_->of(tile, *backend.context.device);
  on.resident.reserve(rows_, tile.range().size(), tile);
  on.resident.load(rows_, tile.range(), on.staging, tile.stream());
  const auto in_arena = [&](std::span<const double> numbers) {
    auto* copy = scratch<double>(std::ssize(numbers), tile);
    upload(copy, numbers.data(), numbers.size(), tile);
    return copy;
  };

  const std::int64_t rows = std::ssize(out);
  const std::int64_t at_once = std::min(rows, max_rows_at_once);
  const LayoutView tables = layout_.view();
  PredictionView view{};
  view.numbers = layout.numbers();
  view.components = layout.components();
  view.raw_coef = in_arena(raw_coef_);
  view.parameters = in_arena(rows_.family.parameters());
  view.columns = on.resident.view();
  view.response_factor = rows_.response_factor;
  if (!form_.empty()) {
    const auto products = layout_.products_of_terms();
    view.form = in_arena(form_);
    view.products = layout.products() + (products.data() - layout_.all_products.data());
    view.product_count = static_cast<int>(products.size());
    view.values = scratch<double>(at_once * tables.values_per_row, tile);
    view.starts = scratch<int>(at_once * tables.placement_count, tile);
  }
  auto* const predictions = scratch<double>(2 * rows, tile);
  for (; view.first < rows; view.first += at_once) {
    if (tile.stopping()) return;
    view.count = std::min(at_once, rows - view.first);
    view.out = predictions + 2 * view.first;
    launch(backend.built->predict, {blocks_for(view.count)}, {threads_per_block}, 0, tile.stream(), view);
  }
  on.staging.download(out.data(), predictions, out.size_bytes(), tile.stream());
}

}  // namespace TESSERA_NAMESPACE::gam
