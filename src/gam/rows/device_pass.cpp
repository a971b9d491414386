// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/device_pass.hpp"

#include "base/at.hpp"
#include "gam/rows/columns.hpp"
#include "gam/rows/device_columns.hpp"
#include "gam/rows/device_kernels.hpp"
#include "gam/rows/device_memory.hpp"
#include "gam/rows/slice_batch.hpp"

#include <tessera/device/backend.hpp>
#include <tessera/memory/pinned.hpp>
#include <tessera/partition/plan.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Maximum rows of a slice. Equal on all devices, because the slice length affects rounding.
constexpr std::int64_t largest_slice = 8192;
/// Maximum scratch memory per device: more concurrent slices gain nothing.
constexpr std::int64_t largest_scratch_bytes = std::int64_t{1} << 30;
constexpr std::int64_t largest_grid_y = 65535;
constexpr unsigned threads_per_warp = 32;

/// Divides products into tasks, except those of tensor cores. `cross`: null without tensor cores.
std::vector<Task> divide_products(PassKind kind, const RowLayout& layout, const CrossPlan* cross,
                                  const StoredValues& stored) {
  std::vector<Task> tasks;
  const std::span<const Product> products = layout.products(kind);
  for (std::size_t i = 0; i < products.size(); ++i) {
    if (cross != nullptr && cross->share(kind).forms[i]) continue;
    const Product& product = products[i];
    const int lanes = lanes_for(product.row_nonzeros * product.column_nonzeros);
    const std::int64_t size = std::int64_t{product.rows} * product.columns;
    for (std::int64_t begin = 0; begin < size; begin += task_elements) {
      Task task;
      task.product = static_cast<int>(i);
      task.begin = begin;
      task.elements = static_cast<int>(std::min<std::int64_t>(task_elements, size - begin));
      task.workers = std::min(threads_per_block / lanes, shared_elements / task.elements);
      task.row_values = stored.value_begins[base::at(product.row_term)];
      task.column_values = stored.value_begins[base::at(product.column_term)];
      task.plane = layout.plane_of(product, kind);
      tasks.push_back(task);
    }
  }
  return tasks;
}

struct CrossKernel {
  explicit CrossKernel(const Module& module) : form_crossproduct(module.kernel("form_crossproduct")) {}

  KernelView form_crossproduct;
};

struct Kernels {
  TermKernels terms;
  FamilyKernels family;
  ProductKernels products;
  std::optional<CrossKernel> cross;
};

/// A `CrossShare`, resident on one device.
class ShareOnDevice {
 public:
  [[nodiscard]] CrossView load(const CrossPlan& plan, const CrossShare& share, const StoredValues& stored,
                               const Tile& tile) {
    if (groups_.data() == nullptr) {
      terms_ = kept(share.terms, tile);
      tasks_ = kept(share.tasks, tile);
      groups_ = kept(share.groups, tile);
    }
    CrossView view{terms_.data(), tasks_.data(), groups_.data(), plan.shape, 0, {}, {}};
    for (const int term : plan.dense_terms)
      view.dense_begins[view.dense_count++] = stored.value_begins[base::at(term)];
    view.dense_begins[view.dense_count++] = stored.value_begins.back();
    if (plan.cubics) std::ranges::copy(*plan.cubics, view.cubics);
    return view;
  }

 private:
  Buffer<CrossTerm> terms_;
  Buffer<CrossTask> tasks_;
  Buffer<CrossGroup> groups_;
};

/// The values of `SliceBatchView::readers`; empty without shared terms.
std::vector<std::uint8_t> reader_table(const RowLayout& layout, int predictors) {
  const auto count = base::at(predictors);
  std::vector<std::uint8_t> are_read(layout.readers().size() * count);
  for (std::size_t f = 0; f < layout.readers().size(); ++f)
    for (const int predictor : layout.readers()[f]) are_read[f * count + base::at(predictor)] = 1;
  return are_read;
}

}  // namespace

/// Data that stay on a device between passes.
struct DeviceRows::OnDevice {
  DeviceLayout layout;

  ShareOnDevice sums;
  ShareOnDevice moments;

  /// Pinned, because copies to pageable memory take several times as long.
  struct {
    PinnedBuffer<std::int32_t> tops;
    PinnedBuffer<std::int64_t> bins;
  } arrived;
};

namespace {

/// One pass, in the tile's scratch memory.
class DevicePass {
 public:
  /// `cross`: null on devices without tensor cores.
  DevicePass(PassKind kind, const RowLayout& layout, const CrossPlan* cross, const Tile& tile)
      : kind_(kind), layout_(layout), stored_(values_of_pass(layout, kind, cross)), tile_(tile) {
    load(divide_products(kind, layout, cross, stored_));
  }

  /// Adds the work of the tensor cores.
  void load(const CrossPlan& plan, std::size_t groups, const CrossView& view) {
    cross_ = Crossproduct{static_cast<unsigned>(plan.shape.warps) * threads_per_warp,
                          cross_shared_bytes(plan.shape, cross_tiling(plan.quads)),
                          static_cast<unsigned>(groups), view};
  }
  /// Allocates scratch memory for as many concurrent slices as the budget allows. Returns their number.
  std::int64_t begin(SliceBatchView& batch, std::int64_t most_slices, std::int64_t budget_bytes);
  void add(const Kernels& kernels, const SliceBatchView& batch, std::int64_t slices);
  void end(std::int64_t width, std::span<std::int32_t> tops, std::span<std::int64_t> bins);

  [[nodiscard]] const StoredValues& stored() const noexcept { return stored_; }

 private:
  void load(const std::vector<Task>& tasks);

  PassKind kind_;
  const RowLayout& layout_;
  StoredValues stored_;
  const Tile& tile_;
  struct Crossproduct {
    unsigned threads;
    std::size_t shared_bytes;
    unsigned groups;
    CrossView view;
  };
  std::optional<Crossproduct> cross_;
  const Task* tasks_ = nullptr;
  unsigned task_count_ = 0;
  std::size_t task_shared_bytes_ = 0;
  std::int32_t* tops_ = nullptr;
  std::int64_t* bins_ = nullptr;
};

void DevicePass::load(const std::vector<Task>& list) {
  tasks_ = uploaded(list, tile_);
  task_count_ = static_cast<unsigned>(list.size());
  for (const Task& task : list) {
    const auto elements = static_cast<std::size_t>(task.workers * task.elements);
    task_shared_bytes_ = std::max(task_shared_bytes_, elements * sizeof(double));
  }
}

std::int64_t DevicePass::begin(SliceBatchView& batch, std::int64_t most_slices, std::int64_t budget_bytes) {
  constexpr std::int64_t number = sizeof(double);
  const std::int64_t roots = cross_ ? 1 : 0;
  const std::int64_t row_bytes =
      evaluation_bytes_per_row(layout_, stored_) + number * (batch.planes + roots + batch.scalar_count);
  const std::int64_t slice_bytes = row_bytes * batch.slice_rows + number * batch.width;
  const std::int64_t scratch_bytes = std::min(largest_scratch_bytes, budget_bytes / scratch_share);
  const std::int64_t slices =
      std::clamp<std::int64_t>(scratch_bytes / slice_bytes, 1, std::min(most_slices, largest_grid_y));
  batch.capacity = slices * batch.slice_rows;
  batch.weights = scratch<double>(batch.capacity * batch.planes, tile_);
  if (cross_) batch.roots = scratch<double>(batch.capacity, tile_);
  batch.scalars = scratch<double>(batch.capacity * batch.scalar_count, tile_);
  batch.partials = scratch<double>(slices * batch.width, tile_);

  tops_ = scratch<std::int32_t>(batch.width, tile_);
  bins_ = scratch<std::int64_t>(batch.width * sum_bin_count, tile_);
  const auto elements = static_cast<std::size_t>(batch.width);
  // All bits set: each top is -1, the empty sum.
  check(cudaMemsetAsync(tops_, 0xff, elements * sizeof(std::int32_t), stream_of(tile_)), "cudaMemsetAsync");
  check(cudaMemsetAsync(bins_, 0, elements * sum_bin_count * sizeof(std::int64_t), stream_of(tile_)),
        "cudaMemsetAsync");
  return slices;
}

void DevicePass::add(const Kernels& kernels, const SliceBatchView& batch, std::int64_t count) {
  const StreamView stream = tile_.stream();
  const auto slices = static_cast<unsigned>(count);
  constexpr tessera::Extent block{threads_per_block};
  kernels.terms.evaluate(batch, layout_, stored_, slices, stream);
  const tessera::Extent rows{blocks_for(batch.slice_rows), slices};
  if (kind_ == PassKind::parameters)
    launch(kernels.family.keep_parameters, rows, block, 0, stream, batch);
  else
    launch(kernels.family.keep_rows, rows, block, 0, stream, batch, kind_);
  if (cross_) {
    launch(kernels.cross->form_crossproduct, {cross_->groups, slices}, {cross_->threads},
           cross_->shared_bytes, stream, batch, cross_->view);
  }
  if (task_count_ > 0) {
    launch(kernels.products.form_partials, {task_count_, slices}, block, task_shared_bytes_, stream, batch,
           tasks_);
  }
  launch(kernels.products.form_scalars, {slices}, block, threads_per_block * sizeof(double), stream, batch);
  launch(kernels.products.accumulate, {blocks_for(batch.width)}, block, 0, stream,
         static_cast<const double*>(batch.partials), batch.width, static_cast<int>(count), tops_, bins_);
}

void DevicePass::end(std::int64_t width, std::span<std::int32_t> tops, std::span<std::int64_t> bins) {
  const auto copy = [&](auto& host, const auto* device, std::int64_t count) {
    check(cudaMemcpyAsync(host.data(), device, static_cast<std::size_t>(count) * sizeof(host[0]),
                          cudaMemcpyDeviceToHost, stream_of(tile_)),
          "copy of the sums from the device");
  };
  copy(tops, tops_, width);
  copy(bins, bins_, width * sum_bin_count);
  check(cudaStreamSynchronize(stream_of(tile_)), "pass over the rows");
}

}  // namespace

DeviceRows::DeviceRows(const Rows& rows, const RowLayout& layout, std::int64_t block_rows,
                       std::shared_ptr<DeviceTable> table)
    : rows_(rows), layout_(layout), block_rows_(block_rows), cross_(layout), table_(std::move(table)) {}

DeviceRows::~DeviceRows() = default;

DeviceRows::OnDevice& DeviceRows::on_device(int index) {
  const std::lock_guard lock(mutex_);
  auto& slot = devices_[index];
  if (!slot) slot = std::make_unique<OnDevice>();
  return *slot;
}

void DeviceRows::add(PassKind kind, std::span<const double> raw_coef, const Tile& tile,
                     ReproducibleSum& sum) {
  if (tile.range().empty()) return;
  const RowModules& modules = this->modules();
  const auto terms = load_kernels<TermKernels>(modules.terms);
  const BackendContext& context = terms.context;
  const bool on_matrix_units = !layout_.products(kind).empty() && cross_.runs_on(context.capability);
  Kernels kernels{*terms.built, *load_kernels<FamilyKernels>(modules.family).built,
                  *load_kernels<ProductKernels>(modules.products).built, std::nullopt};
  if (on_matrix_units) kernels.cross = *load_kernels<CrossKernel>(*modules.crossproduct).built;
  OnDevice& on = on_device(tile.device_index());
  on.layout.load(layout_, tile);
  const std::int64_t rows = tile.range().size();
  const std::int64_t block_rows = std::min(block_rows_, rows);
  const std::int64_t budget_bytes = table_->budget_bytes(tile);
  // Counts all variables of the frame, so that every pass divides the rows alike.
  const DeviceDivision division = divide_rows(rows, block_rows, bytes_per_row(*rows_.frame), budget_bytes);
  RowRuns runs(table_->of(tile, *context.device), rows_, tile, division);
  DevicePass pass(kind, layout_, on_matrix_units ? &cross_ : nullptr, tile);
  if (on_matrix_units) {
    const CrossShare& share = cross_.share(kind);
    ShareOnDevice& loaded = kind == PassKind::moments ? on.moments : on.sums;
    pass.load(cross_, share.groups.size(), loaded.load(cross_, share, pass.stored(), tile));
  }

  SliceBatchView batch{};
  batch.values_by_row = true;
  batch.response = rows_.response;
  batch.limit = rows_.limit;
  batch.prior_weight = rows_.prior_weight;
  batch.prior_factor = rows_.prior_factor;
  batch.planes = layout_.planes();
  batch.block_rows = block_rows;
  batch.slice_rows = static_cast<int>(std::min(block_rows, largest_slice));
  batch.slices_per_block = static_cast<int>((block_rows - 1) / batch.slice_rows + 1);
  batch.width = static_cast<std::int64_t>(layout_.width(kind));
  batch.scalar_count = layout_.scalars(kind);
  const auto slices_of = [&](std::int64_t some_rows) {
    return ((some_rows - 1) / block_rows + 1) * batch.slices_per_block;
  };
  const std::int64_t at_once =
      pass.begin(batch, slices_of(std::max(division.resident, division.part)), budget_bytes);
  set_evaluation(
      batch, rows_, layout_, on.layout, pass.stored(), raw_coef,
      layout_.several() ? std::span<const double>(rows_.null_predictors) : rows_.family.parameters(), tile);
  const std::vector<std::uint8_t> readers = reader_table(layout_, rows_.family.predictor_count());
  if (!readers.empty()) batch.readers = uploaded(readers, tile);
  std::int64_t all_slices = 0;
  while (const auto run = runs.next()) {
    batch.columns = run->columns;
    batch.rows = run->rows;
    const std::int64_t slices = slices_of(run->rows);
    for (batch.first_slice = 0; batch.first_slice < slices; batch.first_slice += at_once) {
      if (tile.stopping()) return;
      pass.add(kernels, batch, std::min(at_once, slices - batch.first_slice));
    }
    all_slices += slices;
  }
  auto& [tops, bins] = on.arrived;
  const auto width = static_cast<std::size_t>(batch.width);
  if (tops.size() < width) {
    tops = PinnedBuffer<std::int32_t>(width, *context.device);
    bins = PinnedBuffer<std::int64_t>(width * sum_bin_count, *context.device);
  }
  pass.end(batch.width, tops.span(), bins.span());
  sum.merge(tops.span().first(width), bins.span().first(width * sum_bin_count), all_slices);
}

}  // namespace TESSERA_NAMESPACE::gam
