// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/number_taker.hpp"
#include "gam/rows/device_table.hpp"

#include <tessera/device/context.hpp>
#include <tessera/device/stream.hpp>
#include <tessera/job/job.hpp>
#include <tessera/memory/buffer_pool.hpp>
#include <tessera/memory/pinned.hpp>
#include <tessera/partition/plan.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A column uploaded while the table is still being parsed.
struct UploadedColumn {
  std::string name;
  ColumnNumbers numbers;
  Buffer<double> buffer;
  std::vector<Range> missing;  ///< rows that were not copied, relative to the tile
};
struct UploadedColumns {
  Range rows;
  std::vector<UploadedColumn> columns;
};

/// Copies columns to this rank's devices while threads parse the table. Each thread copies its parsed block
/// to pinned memory, and submits the transfer on the device's stream. Devices are prepared concurrently. A
/// device misses blocks that were parsed before it was ready, and all blocks if it fails.
class ColumnUpload final : public NumberTaker {
 public:
  /// `threads`: number of parsing threads. `job` must outlive this object.
  ColumnUpload(Job& job, int threads, const std::vector<NamedNumbers>& columns);
  ~ColumnUpload() override;
  ColumnUpload(const ColumnUpload&) = delete;
  ColumnUpload& operator=(const ColumnUpload&) = delete;

  /// Starts preparing device `index` of the job's pool for `tile`, which begins at local row `first`.
  void add(std::size_t index, const PlannedTile& tile, std::size_t first);

  void begin() noexcept override;
  void take(int thread, const ColumnNumbers& column, std::size_t first,
            std::span<const double> numbers) noexcept override;
  /// Waits for the copies to `device` (`Tile::device_index`). Call once per device after the table is read.
  /// Empty if the device was not added, or failed. Thread-safe for different devices.
  [[nodiscard]] std::optional<UploadedColumns> finish(int device);

 private:
  /// A thread's ring of pinned pieces: one is filled while the others are transferred.
  struct Feed {
    static constexpr std::size_t pieces = 3;
    explicit Feed(const DeviceContext& context) : copied{Event(context), Event(context), Event(context)} {}
    std::array<Event, pieces> copied;  ///< recorded after each piece's last transfer
    std::size_t piece = 0;
    double* to = nullptr;    ///< destination of the current piece
    std::size_t filled = 0;  ///< numbers in the current piece
  };
  struct Missing {
    std::size_t column;
    Range rows;
  };
  /// What one thread received for one device.
  struct Given {
    std::vector<std::size_t> rows;  ///< by column: rows copied or missing
    std::vector<Missing> missing;
  };
  struct OnDevice {
    Range rows;             ///< rows of the tile
    std::size_t first = 0;  ///< local index of the tile's first row
    const DeviceContext* context = nullptr;
    std::vector<Buffer<double>> buffers;  ///< by column
    PinnedBuffer<double> pinned;          ///< pieces of all threads
    std::optional<Stream> stream;         ///< shared by all threads: the bus transfers one piece at a time
    std::vector<Feed> feeds;              ///< by thread
    std::vector<Given> given;             ///< by thread
    std::atomic<bool> ready = false;
    std::atomic<bool> failed = false;
    std::future<void> prepared;
  };
  void prepare(OnDevice& on, std::size_t index);
  void copy(OnDevice& on, int thread, std::size_t column, std::size_t row, std::span<const double> numbers);
  void submit(OnDevice& on, int thread);
  [[nodiscard]] double* piece_of(const OnDevice& on, int thread) const;

  Job& job_;
  int threads_;
  std::size_t piece_numbers_;
  struct Column {
    std::string name;
    ColumnNumbers numbers;
  };
  std::vector<Column> columns_;
  std::map<const ColumnNumbers*, std::size_t> places_;  ///< index in `columns_`
  std::map<int, std::unique_ptr<OnDevice>> devices_;    ///< by `Tile::device_index`
};

}  // namespace TESSERA_NAMESPACE::gam
