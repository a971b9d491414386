// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/layout.hpp"
#include "gam/rows/row_pass.hpp"
#include "gam/rows/rows_view.hpp"

#include <tessera/job/tile.hpp>
#include <tessera/memory/buffer_pool.hpp>
#include <tessera/partition/plan.hpp>

#include <cstdint>
#include <vector>

namespace tessera::gam {

/// The tables of a layout on one device, where they stay.
class DeviceLayout {
 public:
  void load(const RowLayout& layout, const Tile& tile);
  [[nodiscard]] const double* numbers() const noexcept { return numbers_.data(); }
  [[nodiscard]] const ComponentTable* components() const noexcept { return components_.data(); }
  [[nodiscard]] const Product* products() const noexcept { return products_.data(); }

 private:
  bool loaded_ = false;
  Buffer<double> numbers_;
  Buffer<ComponentTable> components_;
  Buffer<Product> products_;
};

/// The columns of some rows on one device, where they stay until others are loaded.
class DeviceColumns {
 public:
  /// Copies the columns of the tile's rows, unless they are there.
  void load(const Rows& rows, const Tile& tile);
  [[nodiscard]] ColumnsView view() const noexcept {
    return {number_columns_.data(), code_columns_.data(), complete_.data()};
  }

 private:
  Range loaded_;  ///< rows whose columns are here
  std::vector<Buffer<double>> numbers_;
  std::vector<Buffer<std::int32_t>> codes_;
  Buffer<const double*> number_columns_;
  Buffer<const std::int32_t*> code_columns_;
  Buffer<std::uint8_t> complete_;
};

}  // namespace tessera::gam
