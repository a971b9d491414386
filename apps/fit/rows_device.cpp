// SPDX-License-Identifier: Apache-2.0
#include "rows_device.hpp"

#include "rows_columns.hpp"
#include "rows_wave.hpp"

#include <tessera/device/backend.hpp>
#include <tessera/error.hpp>
#include <tessera/partition/plan.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tessera::fit {
namespace {

/// Rows of a slice at most. Sums of one kind of device depend on it, so it is the same for all.
constexpr std::int64_t largest_slice = 8192;
/// Scratch at most, whatever the device has: more slices at once than this holds bring nothing.
constexpr std::int64_t largest_scratch_bytes = std::int64_t{1} << 30;
/// Part of the memory budget for scratch; columns may take the rest.
constexpr std::int64_t scratch_share = 5;
constexpr std::int64_t largest_grid_y = 65535;

void check(cudaError_t status, const std::string& what) {
  if (status == cudaSuccess) return;
  throw Error(ErrorCode::job_fault,
              what + ": " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")");
}

/// Device memory of one type that grows and keeps its place between passes. The device that it was made
/// on must be current where it is destroyed.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  ~DeviceArray() {
    // The stream may be gone by now. Nothing can be done about a device that is lost.
    if (data_ != nullptr) static_cast<void>(cudaFree(data_));
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  /// Room for `count` elements; what was there is lost if it must grow.
  void reserve(std::int64_t count, cudaStream_t stream) {
    if (count <= capacity_) return;
    if (data_ != nullptr) check(cudaFreeAsync(data_, stream), "cudaFreeAsync");
    data_ = nullptr;
    capacity_ = 0;
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    void* memory = nullptr;
    check(cudaMallocAsync(&memory, bytes, stream), "cudaMallocAsync of " + std::to_string(bytes) + " bytes");
    data_ = static_cast<T*>(memory);
    capacity_ = count;
  }

  /// The host's memory may be reused when this returns: it is pageable, so CUDA has taken it by then.
  void copy_from(const T* host, std::size_t count, cudaStream_t stream) {
    if (count == 0) return;
    reserve(static_cast<std::int64_t>(count), stream);
    check(cudaMemcpyAsync(data_, host, count * sizeof(T), cudaMemcpyHostToDevice, stream),
          "copy of " + std::to_string(count * sizeof(T)) + " bytes to the device");
  }
  void copy_from(const std::vector<T>& host, cudaStream_t stream) {
    copy_from(host.data(), host.size(), stream);
  }

  [[nodiscard]] T* data() const noexcept { return data_; }

 private:
  T* data_ = nullptr;
  std::int64_t capacity_ = 0;
};

unsigned blocks_for(std::int64_t threads) {
  return static_cast<unsigned>((threads + threads_per_block - 1) / threads_per_block);
}

/// Cuts the products into tasks. Depends on the layout alone.
std::vector<Task> make_tasks(std::span<const Product> products) {
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < products.size(); ++i) {
    const Product& product = products[i];
    const int columns_at_once = std::min(product.columns, task_elements);
    const int rows_at_once = std::min(product.rows, task_elements / columns_at_once);
    for (int row = 0; row < product.rows; row += rows_at_once) {
      for (int column = 0; column < product.columns; column += columns_at_once) {
        Task task;
        task.product = static_cast<int>(i);
        task.row_begin = row;
        task.rows = std::min(rows_at_once, product.rows - row);
        task.column_begin = column;
        task.columns = std::min(columns_at_once, product.columns - column);
        const int lanes = lanes_for(product.row_nonzeros * product.column_nonzeros);
        task.workers = std::min(threads_per_block / lanes, shared_elements / (task.rows * task.columns));
        tasks.push_back(task);
      }
    }
  }
  return tasks;
}

/// The kernels of one model on one kind of device.
struct Kernels {
  explicit Kernels(const Module& module)
      : evaluate{module.kernel("evaluate_moments"), module.kernel("evaluate_start"),
                 module.kernel("evaluate_step"), module.kernel("evaluate_deviance")},
        form_partials(module.kernel("form_partials")),
        form_scalars(module.kernel("form_scalars")),
        accumulate(module.kernel("accumulate")) {}

  KernelView evaluate[4];  ///< by kind of pass
  KernelView form_partials;
  KernelView form_scalars;
  KernelView accumulate;
};

/// The backend of this model on the calling thread's device. Compiles nothing if `Job::compile` has.
CompiledBackend<Kernels> probe_rows(const ModuleSource& source) {
  return probe_backend_with_compile(source.name, [&](const BackendContext& context) {
    return Kernels(context.modules->load(source, context.capability));
  });
}

}  // namespace

/// What stays on one device between passes: columns, layout, and room for the scratch of a wave.
struct DeviceRows::OnDevice {
  /// Members free their memory after this body, so it makes their device current.
  ~OnDevice() {
    if (ordinal >= 0) static_cast<void>(cudaSetDevice(ordinal));
  }

  void open(const RowLayout& layout, cudaStream_t stream);
  void load_columns(const Rows& rows, Range range, cudaStream_t stream);
  void load_pass(PassKind kind, std::span<const double> coef, const RowLayout& layout, cudaStream_t stream);
  [[nodiscard]] WaveView wave_of(PassKind kind, const RowLayout& layout, std::int64_t block_rows) const;
  [[nodiscard]] std::int64_t reserve_scratch(WaveView& wave, const LayoutView& layout,
                                             std::int64_t all_slices, std::int64_t budget_bytes,
                                             cudaStream_t stream);
  void begin_sums(std::int64_t width, cudaStream_t stream);
  void add_wave(const Kernels& kernels, PassKind kind, const WaveView& wave, unsigned slices,
                cudaStream_t stream);
  void end_sums(std::int64_t width, std::int64_t count, ReproducibleSum& sum, cudaStream_t stream);

  int ordinal = -1;  ///< -1: not opened yet
  Range loaded;      ///< rows whose columns are here

  std::vector<std::unique_ptr<DeviceArray<double>>> numbers;
  std::vector<std::unique_ptr<DeviceArray<std::int32_t>>> codes;
  DeviceArray<const double*> number_places;
  DeviceArray<const std::int32_t*> code_places;
  DeviceArray<std::uint8_t> complete;

  DeviceArray<double> tables;
  DeviceArray<ComponentTable> components;
  DeviceArray<Product> products;

  DeviceArray<double> raw_coef;
  DeviceArray<Task> tasks;
  unsigned task_count = 0;
  std::size_t task_shared_bytes = 0;

  DeviceArray<double> values, weights, scalars, partials;
  DeviceArray<int> places;
  DeviceArray<std::int32_t> tops;
  DeviceArray<std::int64_t> bins;
};

void DeviceRows::OnDevice::open(const RowLayout& layout, cudaStream_t stream) {
  if (ordinal >= 0) return;
  check(cudaGetDevice(&ordinal), "cudaGetDevice");
  tables.copy_from(layout.numbers, stream);
  components.copy_from(layout.components, stream);
  products.copy_from(layout.all_products, stream);
}

/// Copies the columns of `range`, unless they are there.
void DeviceRows::OnDevice::load_columns(const Rows& rows, Range range, cudaStream_t stream) {
  if (range == loaded) return;
  loaded = {};
  const Frame& frame = *rows.frame;
  const auto begin = static_cast<std::size_t>(range.begin - frame.rows.begin);
  const auto count = static_cast<std::size_t>(range.size());
  numbers.resize(frame.variables.size());
  codes.resize(frame.variables.size());
  std::vector<const double*> number_pointers(frame.variables.size(), nullptr);
  std::vector<const std::int32_t*> code_pointers(frame.variables.size(), nullptr);
  const auto copy = [&]<class T>(std::unique_ptr<DeviceArray<T>>& array, const std::vector<T>& host) {
    if (!array) array = std::make_unique<DeviceArray<T>>();
    array->copy_from(host.data() + begin, count, stream);
    return array->data();
  };
  for (const int index : variables_read(rows)) {
    const auto i = static_cast<std::size_t>(index);
    const Variable& variable = frame.variables[i];
    if (variable.factor) {
      code_pointers[i] = copy(codes[i], variable.codes);
    } else {
      number_pointers[i] = copy(numbers[i], variable.numbers);
    }
  }
  complete.copy_from(frame.complete.data() + begin, count, stream);
  number_places.copy_from(number_pointers, stream);
  code_places.copy_from(code_pointers, stream);
  loaded = range;
}

void DeviceRows::OnDevice::load_pass(PassKind kind, std::span<const double> coef, const RowLayout& layout,
                                     cudaStream_t stream) {
  raw_coef.copy_from(coef.data(), coef.size(), stream);
  const std::vector<Task> list = make_tasks(layout.products(kind));
  tasks.copy_from(list, stream);
  task_count = static_cast<unsigned>(list.size());
  task_shared_bytes = 0;
  for (const Task& task : list) {
    const auto elements = static_cast<std::size_t>(task.workers * task.rows * task.columns);
    task_shared_bytes = std::max(task_shared_bytes, elements * sizeof(double));
  }
}

/// All of the view but its scratch.
WaveView DeviceRows::OnDevice::wave_of(PassKind kind, const RowLayout& layout,
                                       std::int64_t block_rows) const {
  WaveView wave{};
  wave.numbers = tables.data();
  wave.components = components.data();
  wave.products = products.data();
  wave.raw_coef = raw_coef.data();
  wave.columns = {number_places.data(), code_places.data(), complete.data()};
  wave.rows = loaded.size();
  wave.block_rows = std::min(block_rows, wave.rows);
  wave.slice_rows = static_cast<int>(std::min(wave.block_rows, largest_slice));
  wave.slices_per_block = static_cast<int>((wave.block_rows - 1) / wave.slice_rows + 1);
  wave.width = static_cast<std::int64_t>(layout.width(kind));
  return wave;
}

/// Makes room for as many slices as the budget holds. Returns how many.
std::int64_t DeviceRows::OnDevice::reserve_scratch(WaveView& wave, const LayoutView& layout,
                                                   std::int64_t all_slices, std::int64_t budget_bytes,
                                                   cudaStream_t stream) {
  constexpr std::int64_t number = sizeof(double);
  constexpr std::int64_t place = sizeof(int);
  const std::int64_t numbers_per_row = layout.values_per_row + 1 + RowLayout::scalar_count;
  const std::int64_t row_bytes = number * numbers_per_row + place * layout.placement_count;
  const std::int64_t slice_bytes = row_bytes * wave.slice_rows + number * wave.width;
  const std::int64_t scratch_bytes = std::min(largest_scratch_bytes, budget_bytes / scratch_share);
  const std::int64_t slices =
      std::clamp<std::int64_t>(scratch_bytes / slice_bytes, 1, std::min(all_slices, largest_grid_y));
  wave.capacity = slices * wave.slice_rows;
  values.reserve(wave.capacity * layout.values_per_row, stream);
  places.reserve(wave.capacity * layout.placement_count, stream);
  weights.reserve(wave.capacity, stream);
  scalars.reserve(wave.capacity * RowLayout::scalar_count, stream);
  partials.reserve(slices * wave.width, stream);
  wave.values = values.data();
  wave.places = places.data();
  wave.weights = weights.data();
  wave.scalars = scalars.data();
  wave.partials = partials.data();
  return slices;
}

void DeviceRows::OnDevice::begin_sums(std::int64_t width, cudaStream_t stream) {
  tops.reserve(width, stream);
  bins.reserve(width * sum_bin_count, stream);
  const auto elements = static_cast<std::size_t>(width);
  // Every byte 0xff makes -1: nothing was added.
  check(cudaMemsetAsync(tops.data(), 0xff, elements * sizeof(std::int32_t), stream), "cudaMemsetAsync");
  check(cudaMemsetAsync(bins.data(), 0, elements * sum_bin_count * sizeof(std::int64_t), stream),
        "cudaMemsetAsync");
}

void DeviceRows::OnDevice::add_wave(const Kernels& kernels, PassKind kind, const WaveView& wave,
                                    unsigned slices, cudaStream_t native) {
  const StreamView stream(native);
  constexpr Extent block{threads_per_block};
  launch(kernels.evaluate[static_cast<int>(kind)], {blocks_for(wave.slice_rows), slices}, block, 0, stream,
         wave);
  if (task_count > 0) {
    launch(kernels.form_partials, {task_count, slices}, block, task_shared_bytes, stream, wave,
           static_cast<const Task*>(tasks.data()));
  }
  launch(kernels.form_scalars, {slices}, block, threads_per_block * sizeof(double), stream, wave);
  launch(kernels.accumulate, {blocks_for(wave.width)}, block, 0, stream,
         static_cast<const double*>(wave.partials), wave.width, static_cast<int>(slices), tops.data(),
         bins.data());
}

void DeviceRows::OnDevice::end_sums(std::int64_t width, std::int64_t count, ReproducibleSum& sum,
                                    cudaStream_t stream) {
  std::vector<std::int32_t> host_tops(static_cast<std::size_t>(width));
  std::vector<std::int64_t> host_bins(host_tops.size() * sum_bin_count);
  const auto copy = [&](auto& host, const auto& device) {
    check(cudaMemcpyAsync(host.data(), device.data(), host.size() * sizeof(host[0]), cudaMemcpyDeviceToHost,
                          stream),
          "copy of the sums from the device");
  };
  copy(host_tops, tops);
  copy(host_bins, bins);
  check(cudaStreamSynchronize(stream), "pass over the rows");
  sum.merge(host_tops, host_bins, count);
}

DeviceRows::DeviceRows(const Rows& rows, const RowLayout& layout, std::int64_t block_rows)
    : rows_(rows), layout_(layout), block_rows_(block_rows), source_(rows_source(rows, layout)) {}

DeviceRows::~DeviceRows() = default;

std::int64_t DeviceRows::bytes_per_row() const {
  const std::int64_t columns = column_bytes_per_row(rows_);
  return columns + (columns + scratch_share - 2) / (scratch_share - 1);
}

void DeviceRows::add(PassKind kind, std::span<const double> raw_coef, const Tile& tile,
                     ReproducibleSum& sum) {
  if (tile.range().empty()) return;
  const auto backend = probe_rows(source_);
  const auto stream = static_cast<cudaStream_t>(tile.stream().native());
  OnDevice* found = nullptr;
  {
    const std::lock_guard lock(mutex_);
    auto& slot = devices_[tile.device_index()];
    if (!slot) slot = std::make_unique<OnDevice>();
    found = slot.get();
  }
  OnDevice& on = *found;
  on.open(layout_, stream);
  on.load_columns(rows_, tile.range(), stream);
  on.load_pass(kind, raw_coef, layout_, stream);

  WaveView wave = on.wave_of(kind, layout_, block_rows_);
  const std::int64_t blocks = (wave.rows - 1) / wave.block_rows + 1;
  const std::int64_t all_slices = blocks * wave.slices_per_block;
  const std::int64_t at_once =
      on.reserve_scratch(wave, layout_.view(), all_slices, tile.device().memory_budget_bytes(), stream);
  on.begin_sums(wave.width, stream);
  for (; wave.first_slice < all_slices; wave.first_slice += at_once) {
    const std::int64_t slices = std::min(at_once, all_slices - wave.first_slice);
    on.add_wave(*backend.built, kind, wave, static_cast<unsigned>(slices), stream);
  }
  on.end_sums(wave.width, all_slices, sum, stream);
}

}  // namespace tessera::fit
