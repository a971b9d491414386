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

/// Reads and writes Parquet and Feather files by the plugin libtessera_arrow.so (`plugin/arrow_plugin.h`),
/// which is opened at the first such file.
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

/// The name of the format of a file that begins with these bytes, Parquet or Feather; empty for other files.
[[nodiscard]] std::string_view arrow_format(std::string_view beginning);

/// An open file. Several threads may read streams of the same file.
class ArrowFile {
 public:
  /// `bytes` must outlive this object. `between` is called before each read of this object, not of its
  /// streams. Throws `Error(input)`, with the path, if there is no plugin for this process or if the file is
  /// damaged, encrypted or of another format; also passes on exceptions of `bytes` and `between`.
  explicit ArrowFile(const files::InputFile& bytes, const BetweenReads& between = {});

  [[nodiscard]] const tessera_arrow_contents& contents() const noexcept;
  [[nodiscard]] std::int64_t bytes_read() const noexcept;  ///< sum over all streams
  /// Number of decimals read so far that have more digits than a double.
  [[nodiscard]] std::int64_t inexact_decimals(std::int64_t column) const noexcept;

  class Stream;
  /// The rows of some pieces (row groups or record batches) in order, with these columns (indices in the
  /// schema) in this order, read to the memory in `to` where this is possible: see
  /// `tessera_arrow_plugin::stream`. Throws `Error(input)` like the constructor, and for a nested column.
  [[nodiscard]] Stream stream(Range pieces, std::span<const std::int64_t> columns,
                              std::span<void* const> to = {}) const;

 private:
  struct Inside;
  std::shared_ptr<Inside> inside_;
};

/// Record batches of a file, for one thread. `bytes` must outlive the stream; the `ArrowFile` need not.
class ArrowFile::Stream {
 public:
  /// The schema of the batches: a struct of the chosen columns.
  [[nodiscard]] const ArrowSchema& schema() const noexcept { return *schema_; }
  /// Reads the next batch; false at the end. Calls `base::check_cancelled` before each read of the file.
  /// Throws `Error(input)` with piece and column; also passes on exceptions from reading the bytes.
  [[nodiscard]] bool next(ArrowOwner<ArrowArray>& batch);

 private:
  friend class ArrowFile;
  Stream(std::shared_ptr<Inside> file, Range pieces, std::span<const std::int64_t> columns,
         std::span<void* const> to);
  [[nodiscard]] std::string error();

  std::shared_ptr<Inside> file_;  // must outlive the stream
  ArrowOwner<ArrowArrayStream> stream_;
  ArrowOwner<ArrowSchema> schema_;
};

/// Writes a Parquet or Feather file.
///
///     ArrowFileWriter writer(TESSERA_ARROW_PARQUET, output.name(), schema,
///                            [&](std::string_view bytes) { output.write(bytes); });
///     writer.append(batch);
///     writer.finish();
///     output.commit();
class ArrowFileWriter {
 public:
  /// `name` is the file's name for messages; `write` receives its bytes in order. Throws `Error(input)`
  /// without the plugin, or for a type that the format lacks.
  ArrowFileWriter(tessera_arrow_format format, std::string name, const ArrowSchema& schema,
                  std::function<void(std::string_view bytes)> write);
  ~ArrowFileWriter();
  ArrowFileWriter(const ArrowFileWriter&) = delete;
  ArrowFileWriter& operator=(const ArrowFileWriter&) = delete;

  /// Takes ownership of a record batch, even if it throws: `Error(input)`, or an exception of `write`.
  void append(ArrowArray& batch);
  /// Writes the end of the file. Throws like `append`.
  void finish();

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace TESSERA_NAMESPACE::gam
