// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/device_table.hpp"
#include "gam/table/frame/number_taker.hpp"

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

/// A column on a device before there is a frame.
struct UploadedColumn {
  std::string name;
  ColumnNumbers numbers;
  Buffer<double> buffer;
  std::vector<Range> missing;  ///< rows of the tile, from 0 on, that were not copied
};
struct UploadedColumns {
  Range rows;
  std::vector<UploadedColumn> columns;
};

/// Copies columns in memory to the devices of a rank while its threads read them: each copies what it has in
/// its cache to pinned memory, and submits it on the stream of its device. Devices are prepared beside that:
/// what is read before is missing there, and on a device that fails all is.
class ColumnUpload final : public NumberTaker {
 public:
  /// `threads` that read. Refers to the job.
  ColumnUpload(Job& job, int threads, const std::vector<NamedNumbers>& columns);
  ~ColumnUpload() override;
  ColumnUpload(const ColumnUpload&) = delete;
  ColumnUpload& operator=(const ColumnUpload&) = delete;

  /// Begins to prepare a device of the job's pool, for a tile that begins at the `first` of this rank's rows.
  void add(std::size_t index, const PlannedTile& tile, std::size_t first);

  void begin() noexcept override;
  void take(int thread, const ColumnNumbers& column, std::size_t first,
            std::span<const double> numbers) noexcept override;
  /// Once the table is read: waits for the copies to a device (`Tile::device_index`). Nothing where it was
  /// not added, or has failed. Once for each device; thread-safe for different ones.
  [[nodiscard]] std::optional<UploadedColumns> finish(int device);

 private:
  /// The pieces of pinned memory of one thread, used in turn: it fills one while others are on the bus.
  struct Feed {
    static constexpr std::size_t pieces = 3;
    explicit Feed(const DeviceContext& context) : copied{Event(context), Event(context), Event(context)} {}
    std::array<Event, pieces> copied;  ///< complete when the last copy from a piece is
    std::size_t piece = 0;
    double* to = nullptr;    ///< where the piece that is being filled goes
    std::size_t filled = 0;  ///< numbers of it
  };
  struct Missing {
    std::size_t column;
    Range rows;
  };
  /// What one thread was given of a device's rows.
  struct Given {
    std::vector<std::size_t> rows;  ///< by column, with those that are missing:
    std::vector<Missing> missing;
  };
  struct OnDevice {
    Range rows;             ///< of the tile
    std::size_t first = 0;  ///< of them among this rank's rows
    const DeviceContext* context = nullptr;
    std::vector<Buffer<double>> buffers;  ///< by column
    PinnedBuffer<double> pinned;          ///< the pieces of all threads
    std::optional<Stream> stream;         ///< of all threads: the bus copies one piece after another
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
  std::map<const ColumnNumbers*, std::size_t> places_;  ///< of the table's columns among `columns_`
  std::map<int, std::unique_ptr<OnDevice>> devices_;    ///< by `Tile::device_index`
};

}  // namespace TESSERA_NAMESPACE::gam
