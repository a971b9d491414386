// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/arrow/plugin/bytes.hpp"

#include <arrow/array.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

namespace tessera::arrow_plugin {

/// Maximum number of rows of a batch.
inline constexpr std::int64_t batch_rows = 65'536;

/// Maximum size of a buffer, because a damaged file may request any size. Initially the machine's memory.
extern std::atomic<std::int64_t> most_buffer_bytes;
/// Memory pool with this limit. Never destroyed, because tables may keep its buffers until the process ends.
[[nodiscard]] arrow::MemoryPool* memory();

/// Returns the record batches of a piece, one per call; null after the last.
using Batches = std::function<arrow::Result<std::shared_ptr<arrow::RecordBatch>>()>;
/// Destination of a column's values in a piece; null: memory of Arrow.
using Place = std::byte*;
/// Reads a stream's columns from a piece of a file. Values whose type allows it go to the destinations `to`,
/// which may be empty.
using Reader = std::function<arrow::Result<Batches>(int piece, std::span<const Place> to)>;

/// An open Parquet or Feather file. Thread-safe.
class File {
 public:
  File(tessera_arrow_format format, std::shared_ptr<Input> input, std::shared_ptr<arrow::Schema> schema,
       std::vector<std::int64_t> piece_rows);
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  virtual ~File();

  [[nodiscard]] const tessera_arrow_contents& contents() const noexcept { return contents_; }
  /// The schema of the format's library, before conversions.
  [[nodiscard]] const arrow::Schema& schema() const noexcept { return *schema_; }
  [[nodiscard]] const std::shared_ptr<Input>& input() const noexcept { return input_; }
  /// Number of decimals in a column that have lost digits.
  [[nodiscard]] std::atomic<std::int64_t>& inexact(int column) const {
    return inexact_.at(static_cast<std::size_t>(column));
  }
  /// Requires columns in increasing order, none of them nested.
  [[nodiscard]] virtual arrow::Result<Reader> reader(const std::vector<int>& columns) const = 0;

 private:
  std::shared_ptr<Input> input_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::int64_t> piece_rows_;
  ArrowSchema exported_{};
  tessera_arrow_contents contents_{};
  mutable std::vector<std::atomic<std::int64_t>> inexact_;
};

[[nodiscard]] arrow::Result<std::shared_ptr<File>> open_parquet(std::shared_ptr<Input> input);
[[nodiscard]] arrow::Result<std::shared_ptr<File>> open_feather(std::shared_ptr<Input> input);

/// The stream of `tessera_arrow_plugin::stream`.
[[nodiscard]] arrow::Status open_stream(std::shared_ptr<const File> file, std::int64_t first,
                                        std::int64_t end, std::span<const std::int64_t> columns,
                                        std::span<void* const> to, ArrowArrayStream& out);

/// The status returned by `work`, or a status for its exception.
template <class Work>
arrow::Status guarded(const Work& work) noexcept {
  try {
    try {
      return work();
    } catch (const std::bad_alloc&) {
      return arrow::Status::OutOfMemory("there is not enough memory");
    } catch (const std::exception& error) {
      return arrow::Status::IOError(error.what());
    } catch (...) {
      return arrow::Status::IOError("an unknown exception was thrown");
    }
  } catch (...) {
    std::terminate();  // not enough memory even for a message
  }
}

/// A status' message in one line; Arrow's messages may have several lines.
[[nodiscard]] std::string line_of(const arrow::Status& status);

}  // namespace tessera::arrow_plugin
