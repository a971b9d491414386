// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/device_columns.hpp"

#include "gam/rows/columns.hpp"
#include "gam/rows/device_memory.hpp"

#include <algorithm>
#include <iterator>

namespace tessera::gam {

void DeviceLayout::load(const RowLayout& layout, const Tile& tile) {
  if (loaded_) return;
  numbers_ = kept(layout.numbers, tile);
  components_ = kept(layout.components, tile);
  products_ = kept(layout.all_products, tile);
  loaded_ = true;
}

template <class T>
Buffer<T> DeviceColumns::staged(const ColumnStorage<T>& column, std::size_t begin, std::size_t count,
                                const Tile& tile) {
  Buffer<T> buffer = tile.buffers().take<T>(count, tile.stream());
  staging_.upload(buffer.data(), column.data() + begin, count * sizeof(T), tile.stream());
  column.let_go(begin, begin + count);
  return buffer;
}

void DeviceColumns::load(const Rows& rows, const Tile& tile) {
  const Range range = tile.range();
  const Frame& frame = *rows.frame;
  const auto begin = static_cast<std::size_t>(range.begin - frame.rows.begin);
  const auto count = static_cast<std::size_t>(range.size());
  bool changed = false;
  if (range != loaded_) {
    loaded_ = {};
    // Given back before others are taken, so that those are the same memory.
    numbers_.clear();
    codes_.clear();
    complete_ = staged(frame.complete, begin, count, tile);
    loaded_ = range;
    changed = true;
  }
  for (const int index : variables_read(rows)) {
    const auto i = static_cast<std::size_t>(index);
    const Variable& variable = frame.variables[i];
    if (variable.factor ? codes_.contains(i) : numbers_.contains(i)) continue;
    if (variable.factor)
      codes_.emplace(i, staged(variable.codes, begin, count, tile));
    else
      numbers_.emplace(i, staged(variable.numbers, begin, count, tile));
    changed = true;
  }
  if (!changed) return;
  std::vector<const double*> number_pointers(frame.variables.size(), nullptr);
  std::vector<const std::int32_t*> code_pointers(frame.variables.size(), nullptr);
  for (const auto& [index, column] : numbers_) number_pointers[index] = column.data();
  for (const auto& [index, column] : codes_) code_pointers[index] = column.data();
  number_columns_ = kept(number_pointers, tile);
  code_columns_ = kept(code_pointers, tile);
}

DeviceColumns& DeviceTable::of(const Tile& tile, const DeviceContext& context) {
  const std::lock_guard lock(mutex_);
  auto& slot = devices_[tile.device_index()];
  if (!slot) slot = std::make_unique<DeviceColumns>(context, copy_threads_);
  return *slot;
}

std::shared_ptr<DeviceTable> make_device_table(const Job& job) {
  // More do not fill the bus any better.
  constexpr std::int64_t most_threads = 8;
  const std::int64_t devices = std::ssize(job.inventory().devices_of(job.comm().rank()));
  return std::make_shared<DeviceTable>(static_cast<int>(
      std::clamp<std::int64_t>(job.threads() / std::max<std::int64_t>(1, devices), 1, most_threads)));
}

}  // namespace tessera::gam
