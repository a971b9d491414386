// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/device_columns.hpp"

#include "gam/rows/columns.hpp"
#include "gam/rows/device_memory.hpp"

namespace tessera::gam {

void DeviceLayout::load(const RowLayout& layout, const Tile& tile) {
  if (loaded_) return;
  numbers_ = kept(layout.numbers, tile);
  components_ = kept(layout.components, tile);
  products_ = kept(layout.all_products, tile);
  loaded_ = true;
}

void DeviceColumns::load(const Rows& rows, const Tile& tile) {
  const Range range = tile.range();
  if (range == loaded_) return;
  loaded_ = {};
  // Given back before others are taken, so that those are the same memory.
  numbers_.clear();
  codes_.clear();
  const Frame& frame = *rows.frame;
  const auto begin = static_cast<std::size_t>(range.begin - frame.rows.begin);
  const auto count = static_cast<std::size_t>(range.size());
  std::vector<const double*> number_pointers(frame.variables.size(), nullptr);
  std::vector<const std::int32_t*> code_pointers(frame.variables.size(), nullptr);
  for (const int index : variables_read(rows)) {
    const auto i = static_cast<std::size_t>(index);
    const Variable& variable = frame.variables[i];
    if (variable.factor) {
      codes_.push_back(kept(variable.codes.data() + begin, count, tile));
      code_pointers[i] = codes_.back().data();
    } else {
      numbers_.push_back(kept(variable.numbers.data() + begin, count, tile));
      number_pointers[i] = numbers_.back().data();
    }
  }
  complete_ = kept(frame.complete.data() + begin, count, tile);
  number_columns_ = kept(number_pointers, tile);
  code_columns_ = kept(code_pointers, tile);
  loaded_ = range;
}

}  // namespace tessera::gam
