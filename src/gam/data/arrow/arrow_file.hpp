// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/arrow/arrow_batches.hpp"
#include "gam/data/arrow/plugin/arrow_plugin.h"

#include <tessera/gam/arrow_abi.h>
#include <tessera/partition/plan.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

/// Parquet and Feather files, read and written by the plugin libtessera_arrow.so (`plugin/arrow_plugin.h`),
/// which is opened when the first of them is.
///
///     const files::InputFile bytes(path);
///     const ArrowFile file(bytes);                        // refused in one line without the plugin
///     const std::int64_t columns[] = {2, 0};              // of file.contents().schema->children
///     ArrowFile::Stream rows = file.stream({0, file.contents().pieces}, columns);
///     ArrowOwner<ArrowArray> batch;
///     while (rows.next(batch)) use(rows.schema(), *batch);
namespace tessera::files {
class InputFile;
}

namespace TESSERA_NAMESPACE::gam {

/// Whether a file that begins with these bytes is Parquet or Feather; the name of its format, else empty.
[[nodiscard]] std::string_view arrow_format(std::string_view beginning);

/// An open file. Threads may read streams of it at the same time.
class ArrowFile {
 public:
  /// `bytes` must outlive this file. `between` is called before each read of this object, not of its streams.
  /// Throws `Error(input)` with the path and one line: no plugin, or none that can be used in this process; a
  /// file that is damaged, encrypted or of another format; and what `bytes` and `between` throw.
  explicit ArrowFile(const files::InputFile& bytes, const BetweenReads& between = {});

  [[nodiscard]] const tessera_arrow_contents& contents() const noexcept;
  [[nodiscard]] std::int64_t bytes_read() const noexcept;  ///< by all streams so far
  /// Decimals, read so far, that have more digits than a number has.
  [[nodiscard]] std::int64_t inexact_decimals(std::int64_t column) const noexcept;

  class Stream;
  /// The rows of these pieces in order, with these columns (indices in the schema) in this order. Throws
  /// `Error(input)` as opening does, and for a nested column.
  [[nodiscard]] Stream stream(Range pieces, std::span<const std::int64_t> columns) const;

 private:
  struct Inside;
  std::shared_ptr<Inside> inside_;
};

/// Record batches of a file; for one thread at a time. The file's `bytes` must outlive it, the file need not.
class ArrowFile::Stream {
 public:
  /// The type of the batches: a struct of the chosen columns.
  [[nodiscard]] const ArrowSchema& schema() const noexcept { return *schema_; }
  /// Reads the next batch; false at the end. Calls `base::go_on` before each read of the file. Throws
  /// `Error(input)` with the piece and the column, and what reading the bytes throws.
  [[nodiscard]] bool next(ArrowOwner<ArrowArray>& batch);

 private:
  friend class ArrowFile;
  Stream(std::shared_ptr<Inside> file, Range pieces, std::span<const std::int64_t> columns);
  [[nodiscard]] std::string error();

  std::shared_ptr<Inside> file_;  // must outlive the stream
  ArrowOwner<ArrowArrayStream> stream_;
  ArrowOwner<ArrowSchema> schema_;
};

/// Writes a file of either format.
///
///     ArrowFileWriter writer(TESSERA_ARROW_PARQUET, output.name(), schema,
///                            [&](std::string_view bytes) { output.write(bytes); });
///     writer.append(batch);
///     writer.finish();
///     output.commit();
class ArrowFileWriter {
 public:
  /// `name` is the file's in messages; `write` receives its bytes in order. Throws `Error(input)` without the
  /// plugin, or for a type that the format does not have.
  ArrowFileWriter(tessera_arrow_format format, std::string name, const ArrowSchema& schema,
                  std::function<void(std::string_view bytes)> write);
  ~ArrowFileWriter();
  ArrowFileWriter(const ArrowFileWriter&) = delete;
  ArrowFileWriter& operator=(const ArrowFileWriter&) = delete;

  /// Takes over a record batch of the schema, in every case. Throws `Error(input)`, and what `write` throws.
  void append(ArrowArray& batch);
  /// Writes the end of the file. Throws in the same way.
  void finish();

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace TESSERA_NAMESPACE::gam
