// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/device_staging.hpp"
#include "gam/rows/device_table.hpp"
#include "gam/rows/layout.hpp"
#include "gam/rows/row_pass.hpp"
#include "gam/rows/rows_view.hpp"

#include <tessera/job/tile.hpp>
#include <tessera/memory/buffer_pool.hpp>
#include <tessera/partition/plan.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
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
  DeviceColumns(const DeviceContext& context, int copy_threads) : staging_(context, copy_threads) {}

  /// Copies those columns that `rows` needs of the tile's rows, unless they are there.
  void load(const Rows& rows, const Tile& tile);
  [[nodiscard]] ColumnsView view() const noexcept {
    return {number_columns_.data(), code_columns_.data(), complete_.data()};
  }
  [[nodiscard]] DeviceStaging& staging() noexcept { return staging_; }

 private:
  template <class T>
  Buffer<T> staged(const ColumnStorage<T>& column, std::size_t begin, std::size_t count, const Tile& tile);

  DeviceStaging staging_;
  Range loaded_;                                   ///< rows whose columns are here
  std::map<std::size_t, Buffer<double>> numbers_;  ///< by the frame's variable indices
  std::map<std::size_t, Buffer<std::int32_t>> codes_;
  Buffer<const double*> number_columns_;
  Buffer<const std::int32_t*> code_columns_;
  Buffer<std::uint8_t> complete_;
};

class DeviceTable {
 public:
  explicit DeviceTable(int copy_threads) : copy_threads_(copy_threads) {}

  /// Those of the device of a tile. Thread-safe.
  [[nodiscard]] DeviceColumns& of(const Tile& tile, const DeviceContext& context);

 private:
  int copy_threads_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<DeviceColumns>> devices_;  ///< by `Tile::device_index`
};

}  // namespace tessera::gam
