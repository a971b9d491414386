// SPDX-License-Identifier: Apache-2.0
#include "gam/data/arrow/plugin/file.hpp"

#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

namespace tessera::arrow_plugin {
namespace {

/// Bytes of a column chunk that are read at once: few enough that they are unpacked from the cache.
constexpr std::int64_t buffer_bytes = std::int64_t{1} << 20;

arrow::Status make_reader(const std::shared_ptr<Input>& input,
                          const std::shared_ptr<parquet::FileMetaData>& metadata,
                          const std::vector<int>& dictionaries,
                          std::unique_ptr<parquet::arrow::FileReader>& out) {
  parquet::ReaderProperties properties(memory());
  properties.enable_buffered_stream();
  properties.set_buffer_size(buffer_bytes);
  parquet::ArrowReaderProperties arrow_properties(false);
  arrow_properties.set_batch_size(batch_rows);
  arrow_properties.set_pre_buffer(false);
  // 64-bit nanoseconds end in the year 2262; Spark's times of type INT96 have microseconds.
  arrow_properties.set_coerce_int96_timestamp_unit(arrow::TimeUnit::MICRO);
  for (const int column : dictionaries) arrow_properties.set_read_dictionary(column, true);
  parquet::arrow::FileReaderBuilder builder;
  ARROW_RETURN_NOT_OK(builder.Open(input, properties, metadata));
  builder.memory_pool(memory())->properties(arrow_properties);
  return builder.Build(&out);
}

/// Record batches of row groups; older versions of Arrow return them by pointer.
template <class FileReader>
arrow::Result<std::shared_ptr<arrow::RecordBatchReader>> batches_of(FileReader& file,
                                                                    const std::vector<int>& row_groups,
                                                                    const std::vector<int>& columns) {
  if constexpr (requires { file.GetRecordBatchReader(row_groups, columns).ok(); }) {
    auto batches = file.GetRecordBatchReader(row_groups, columns);
    if constexpr (std::is_same_v<decltype(batches), arrow::Status>) {
      return batches;
    } else {
      ARROW_RETURN_NOT_OK(batches.status());
      return std::shared_ptr<arrow::RecordBatchReader>(std::move(batches).ValueUnsafe());
    }
  } else {
    std::unique_ptr<arrow::RecordBatchReader> batches;
    ARROW_RETURN_NOT_OK(file.GetRecordBatchReader(row_groups, columns, &batches));
    return std::shared_ptr<arrow::RecordBatchReader>(std::move(batches));
  }
}

class ParquetFile final : public File {
 public:
  ParquetFile(std::shared_ptr<Input> input, std::shared_ptr<arrow::Schema> schema,
              std::vector<std::int64_t> piece_rows, std::shared_ptr<parquet::FileMetaData> metadata,
              std::vector<int> dictionaries)
      : File(TESSERA_ARROW_PARQUET, std::move(input), std::move(schema), std::move(piece_rows)),
        metadata_(std::move(metadata)),
        dictionaries_(std::move(dictionaries)) {}

  arrow::Result<Reader> reader(const std::vector<int>& columns) const override {
    std::unique_ptr<parquet::arrow::FileReader> opened;
    ARROW_RETURN_NOT_OK(make_reader(input(), metadata_, dictionaries_, opened));
    std::vector<int> leaves;
    for (const int column : columns)
      leaves.push_back(opened->manifest().schema_fields[static_cast<std::size_t>(column)].column_index);
    const std::shared_ptr<parquet::arrow::FileReader> file = std::move(opened);
    return [file, leaves](int piece) -> arrow::Result<Batches> {
      ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatchReader> batches,
                            batches_of(*file, {piece}, leaves));
      return [batches] { return batches->Next(); };
    };
  }

 private:
  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::vector<int> dictionaries_;
};

/// A dictionary with more packed bytes is read as texts, because each batch would have a copy of it.
constexpr std::int64_t large_dictionary_bytes = std::int64_t{1} << 16;

/// Whether all values of a column chunk are codes of a small dictionary.
bool is_coded(const parquet::ColumnChunkMetaData& chunk) {
  if (!chunk.has_dictionary_page() ||
      chunk.data_page_offset() - chunk.dictionary_page_offset() > large_dictionary_bytes)
    return false;
  return std::ranges::all_of(chunk.encoding_stats(), [](const parquet::PageEncodingStats& pages) {
    return pages.page_type == parquet::PageType::DICTIONARY_PAGE ||
           pages.encoding == parquet::Encoding::RLE_DICTIONARY ||
           pages.encoding == parquet::Encoding::PLAIN_DICTIONARY;
  });
}

/// Text columns that have dictionary codes in the first row group: codes are read faster than texts.
std::vector<int> texts_with_dictionaries(const parquet::FileMetaData& metadata,
                                         const parquet::arrow::SchemaManifest& manifest) {
  std::vector<int> columns;
  if (metadata.num_row_groups() == 0) return columns;
  const std::unique_ptr<parquet::RowGroupMetaData> first = metadata.RowGroup(0);
  for (const parquet::arrow::SchemaField& field : manifest.schema_fields) {
    if (field.is_leaf() && field.field->type()->id() == arrow::Type::STRING &&
        is_coded(*first->ColumnChunk(field.column_index)))
      columns.push_back(field.column_index);
  }
  return columns;
}

}  // namespace

arrow::Result<std::shared_ptr<File>> open_parquet(std::shared_ptr<Input> input) {
  std::unique_ptr<parquet::arrow::FileReader> file;
  ARROW_RETURN_NOT_OK(make_reader(input, nullptr, {}, file));
  const std::shared_ptr<parquet::FileMetaData> metadata = file->parquet_reader()->metadata();
  std::vector<std::int64_t> piece_rows;
  std::int64_t rows = 0;
  for (int i = 0; i < metadata->num_row_groups(); ++i) {
    const std::unique_ptr<parquet::RowGroupMetaData> group = metadata->RowGroup(i);
    piece_rows.push_back(group->num_rows());
    if (piece_rows.back() < 0 || piece_rows.back() > std::numeric_limits<std::int64_t>::max() - rows)
      return arrow::Status::Invalid("row group ", i + 1, " has ", piece_rows.back(), " rows");
    rows += piece_rows.back();
  }
  if (rows != metadata->num_rows())
    return arrow::Status::Invalid("it has ", metadata->num_rows(), " rows, but its row groups have ", rows);
  std::vector<int> dictionaries = texts_with_dictionaries(*metadata, file->manifest());
  if (!dictionaries.empty()) ARROW_RETURN_NOT_OK(make_reader(input, metadata, dictionaries, file));
  std::shared_ptr<arrow::Schema> schema;
  ARROW_RETURN_NOT_OK(file->GetSchema(&schema));
  return std::make_shared<ParquetFile>(std::move(input), std::move(schema), std::move(piece_rows), metadata,
                                       std::move(dictionaries));
}

}  // namespace tessera::arrow_plugin
