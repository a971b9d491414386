// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/arrow/plugin/bytes.hpp"

#include <arrow/ipc/writer.h>
#include <arrow/type.h>
#include <parquet/arrow/writer.h>

#include <memory>

namespace tessera::arrow_plugin {

/// A Parquet or Feather file that is being written.
class Writer {
 public:
  /// The caller keeps ownership of the schema.
  [[nodiscard]] static arrow::Result<std::unique_ptr<Writer>> begin(const tessera_arrow_output& to,
                                                                    tessera_arrow_format format,
                                                                    const ArrowSchema& schema);
  explicit Writer(const tessera_arrow_output& to) : output_(std::make_shared<Output>(to)) {}
  /// Discards what is unfinished: Arrow's Parquet writer would otherwise complete the file.
  ~Writer() { output_->end(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Takes ownership of the batch, even after a failure.
  [[nodiscard]] arrow::Status append(ArrowArray& batch);
  [[nodiscard]] arrow::Status finish();

 private:
  std::shared_ptr<Output> output_;
  std::shared_ptr<arrow::Schema> schema_{};
  std::unique_ptr<parquet::arrow::FileWriter> parquet_{};
  std::shared_ptr<arrow::ipc::RecordBatchWriter> feather_{};
};

}  // namespace tessera::arrow_plugin
