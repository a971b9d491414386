// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/column_upload.hpp"
#include "gam/rows/device_division.hpp"
#include "gam/rows/device_table.hpp"
#include "gam/rows/layout.hpp"
#include "gam/rows/row_pass.hpp"
#include "gam/rows/rows_view.hpp"

#include <tessera/device/stream.hpp>
#include <tessera/job/device_staging.hpp>
#include <tessera/job/tile.hpp>
#include <tessera/memory/buffer_pool.hpp>
#include <tessera/partition/plan.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

class DeviceLayout {
 public:
  void load(const RowLayout& layout, const Tile& tile);
  /// Holds device pointers.
  [[nodiscard]] const LayoutView& view() const noexcept { return view_; }

 private:
  LayoutView view_{};
  Buffer<double> numbers_;
  Buffer<ComponentTable> components_;
  Buffer<TermTable> terms_;
  Buffer<Placement> placements_;
  Buffer<Product> products_;
  Buffer<int> strides_;
  Buffer<int> offsets_;
  Buffer<std::int64_t> lines_;
  Buffer<int> part_variables_;
};

/// The columns of a range of rows on one device. They stay until another range replaces them.
class DeviceColumns {
 public:
  /// Allocates, on the tile's stream, missing columns of `count` rows that the pass of `rows` reads.
  void reserve(const Rows& rows, std::int64_t count, const Tile& tile);
  /// Copies missing columns of `range`. Requires `reserve`.
  void load(const Rows& rows, Range range, DeviceStaging& staging, StreamView stream);
  /// Takes ownership of columns uploaded during parsing. `reserve` drops those that are not in the frame.
  void bring(UploadedColumns uploaded) { uploaded_ = std::move(uploaded); }
  [[nodiscard]] ColumnsView view() const noexcept {
    return {number_columns_.data(), code_columns_.data(), complete_.data()};
  }

 private:
  void load_numbers(std::size_t variable, const ColumnNumbers& column, std::size_t begin, std::size_t count,
                    DeviceStaging& staging, StreamView stream);
  [[nodiscard]] bool take_uploaded(const Rows& rows, std::int64_t count);

  std::int64_t capacity_ = 0;                      ///< in rows
  std::map<std::size_t, Buffer<double>> numbers_;  ///< by variable of the frame
  std::map<std::size_t, Buffer<std::int32_t>> codes_;
  Buffer<const double*> number_columns_;
  Buffer<const std::int32_t*> code_columns_;
  Buffer<std::uint8_t> complete_;
  Range loaded_;
  bool marked_ = false;                                ///< the flags of complete rows are loaded
  std::set<std::size_t> current_;                      ///< variables whose columns are loaded
  std::map<std::size_t, std::vector<Range>> missing_;  ///< rows still missing, by variable
  std::optional<UploadedColumns> uploaded_;
};

/// Columns of a tile, for one lane of a device.
struct TileColumns {
  TileColumns(const DeviceContext& context, int copy_threads)
      : staging(context, copy_threads),
        copies(context),
        begun(context),
        parts{{Part(context), Part(context)}} {}

  struct Part {
    explicit Part(const DeviceContext& context) : copied(context), summed(context) {}
    DeviceColumns columns;
    Event copied;
    Event summed;
  };

  DeviceStaging staging;
  DeviceColumns resident;
  Stream copies;
  Event begun;  ///< start of the pass, on the tile's stream
  std::array<Part, parts_at_once> parts;
};

/// The runs of rows of a pass on a device: first the resident rows, then the others part by part. A part is
/// copied on a separate stream while the device sums the previous run.
///
///     RowRuns runs(columns, rows, tile, division);
///     while (const auto run = runs.next()) …          // submit work on run->columns to the tile's stream
class RowRuns {
 public:
  RowRuns(TileColumns& on, const Rows& rows, const Tile& tile, const DeviceDivision& division);
  /// Waits for outstanding copies.
  ~RowRuns();
  RowRuns(const RowRuns&) = delete;
  RowRuns& operator=(const RowRuns&) = delete;

  struct Run {
    std::int64_t rows = 0;
    ColumnsView columns;
  };
  /// The next run; empty after the last. First submit the work on the previous run to the tile's stream.
  [[nodiscard]] std::optional<Run> next();

 private:
  [[nodiscard]] Run next_part(Range range);

  TileColumns& on_;
  const Rows& rows_;
  const Tile& tile_;
  DeviceDivision division_;
  std::int64_t at_;                       ///< first row of the next run
  TileColumns::Part* current_ = nullptr;  ///< part being summed
  std::size_t parts_ = 0;                 ///< number of parts so far
};

class DeviceTable {
 public:
  DeviceTable(int copy_threads, std::int64_t device_bytes)
      : copy_threads_(copy_threads), device_bytes_(device_bytes) {}

  /// Columns for the tile's device and lane; created on first use. Thread-safe.
  [[nodiscard]] TileColumns& of(const Tile& tile, const DeviceContext& context);
  /// Memory limit on a device with this memory budget.
  [[nodiscard]] std::int64_t budget_bytes(std::int64_t memory_budget_bytes) const {
    return std::min(memory_budget_bytes, device_bytes_);
  }
  [[nodiscard]] std::int64_t budget_bytes(const Tile& tile) const {
    return budget_bytes(tile.memory_budget_bytes());
  }

  /// Sets the source of columns uploaded during parsing.
  void set_upload(std::unique_ptr<ColumnUpload> upload) { upload_ = std::move(upload); }

 private:
  int copy_threads_;
  std::int64_t device_bytes_;
  std::mutex mutex_;
  /// By `Tile::device_index` and `Tile::lane`.
  std::map<std::pair<int, int>, std::unique_ptr<TileColumns>> lanes_;
  std::unique_ptr<ColumnUpload> upload_;
};

}  // namespace TESSERA_NAMESPACE::gam
