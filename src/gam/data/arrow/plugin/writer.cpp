// SPDX-License-Identifier: Apache-2.0
#include "gam/data/arrow/plugin/writer.hpp"

#include <arrow/c/bridge.h>
#include <arrow/record_batch.h>
#include <arrow/util/compression.h>
#include <parquet/properties.h>

#include <utility>

namespace tessera::arrow_plugin {
namespace {

/// The codec, if Arrow was built with it.
arrow::Compression::type if_available(arrow::Compression::type codec) {
  return arrow::util::Codec::IsAvailable(codec) ? codec : arrow::Compression::UNCOMPRESSED;
}

}  // namespace

arrow::Result<std::unique_ptr<Writer>> Writer::begin(const tessera_arrow_output& to,
                                                     tessera_arrow_format format, const ArrowSchema& schema) {
  ArrowSchema borrowed = schema;
  borrowed.release = [](ArrowSchema* released) { released->release = nullptr; };
  auto writer = std::make_unique<Writer>(to);
  ARROW_ASSIGN_OR_RAISE(writer->schema_, arrow::ImportSchema(&borrowed));
  if (format == TESSERA_ARROW_PARQUET) {
    const auto codec = if_available(arrow::Compression::ZSTD);
    ARROW_ASSIGN_OR_RAISE(
        writer->parquet_,
        parquet::arrow::FileWriter::Open(*writer->schema_, arrow::default_memory_pool(), writer->output_,
                                         parquet::WriterProperties::Builder().compression(codec)->build(),
                                         parquet::ArrowWriterProperties::Builder().store_schema()->build()));
  } else {
    auto options = arrow::ipc::IpcWriteOptions::Defaults();
    options.use_threads = false;
    ARROW_ASSIGN_OR_RAISE(options.codec,
                          arrow::util::Codec::Create(if_available(arrow::Compression::LZ4_FRAME)));
    ARROW_ASSIGN_OR_RAISE(writer->feather_,
                          arrow::ipc::MakeFileWriter(writer->output_, writer->schema_, options));
  }
  return writer;
}

arrow::Status Writer::append(ArrowArray& batch) {
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::RecordBatch> rows,
                        arrow::ImportRecordBatch(&batch, schema_));
  return parquet_ != nullptr ? parquet_->WriteRecordBatch(*rows) : feather_->WriteRecordBatch(*rows);
}

arrow::Status Writer::finish() {
  return parquet_ != nullptr ? parquet_->Close() : feather_->Close();
}

}  // namespace tessera::arrow_plugin
