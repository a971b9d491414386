// SPDX-License-Identifier: Apache-2.0
#include "gam/data/arrow/plugin/file.hpp"

#include <arrow/array/array_primitive.h>
#include <arrow/util/bitmap_generate.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

namespace tessera::arrow_plugin {
namespace {

/// Number of bytes of a column chunk that are read at once: few enough to be decompressed from the CPU cache.
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

/// Record batches of row groups; older versions of Arrow return them by an output parameter.
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

/// A column chunk of numbers of 8 bytes that is decoded into the caller's memory, without the copies and the
/// bitmap that Arrow makes of a column.
class PlacedColumn {
 public:
  PlacedColumn(std::shared_ptr<parquet::ColumnReader> reader, Place to)
      : reader_(std::move(reader)), to_(to) {}

  arrow::Result<std::shared_ptr<arrow::Array>> next(std::int64_t rows) {
    return reader_->type() == parquet::Type::DOUBLE ? read<parquet::DoubleType, arrow::DoubleArray>(rows)
                                                    : read<parquet::Int64Type, arrow::Int64Array>(rows);
  }

 private:
  template <class Type, class Array>
  arrow::Result<std::shared_ptr<arrow::Array>> read(std::int64_t rows) {
    using T = typename Type::c_type;
    auto& reader = static_cast<parquet::TypedColumnReader<Type>&>(*reader_);
    constexpr auto missing = std::bit_cast<std::uint64_t>(std::numeric_limits<T>::quiet_NaN());
    auto* const to = reinterpret_cast<T*>(to_);
    levels_.resize(static_cast<std::size_t>(rows));
    std::int64_t nulls = 0;
    for (std::int64_t done = 0; done < rows;) {
      std::int64_t values = 0;
      std::int16_t* const levels = levels_.data() + done;
      const std::int64_t read = reader.ReadBatch(rows - done, levels, nullptr, to + done, &values);
      if (read <= 0) return arrow::Status::Invalid("it has fewer values than rows");
      // In an optional column, a value has the level 1, and a null the level 0. The decoder omits nulls, so
      // each value must move up to its own row. The last value moves first, so that none is overwritten.
      if (values < read && std::count(levels, levels + read, 1) != values)
        return arrow::Status::Invalid("it has fewer values than its levels declare");
      nulls += read - values;
      for (std::int64_t i = read; values < i--;) {
        values -= levels[i];
        const auto is_there = -static_cast<std::uint64_t>(levels[i]);  // a mask (all bits, or none) instead
                                                                       // of a branch
        const auto bits = std::bit_cast<std::uint64_t>(to[done + values]);
        to[done + i] = std::bit_cast<T>((bits & is_there) | (missing & ~is_there));
      }
      done += read;
    }
    to_ += rows * static_cast<std::int64_t>(sizeof(T));
    std::shared_ptr<arrow::Buffer> valid;
    if (nulls > 0 && reader_->type() == parquet::Type::INT64) {
      ARROW_ASSIGN_OR_RAISE(valid, arrow::AllocateBitmap(rows, memory()));
      arrow::internal::GenerateBitsUnrolled(valid->mutable_data(), 0, rows,
                                            [level = levels_.data()]() mutable { return *level++ != 0; });
    }
    const auto values = std::make_shared<arrow::Buffer>(reinterpret_cast<const std::uint8_t*>(to),
                                                        rows * static_cast<std::int64_t>(sizeof(T)));
    return std::make_shared<Array>(rows, values, valid, valid == nullptr ? 0 : nulls);
  }

  std::shared_ptr<parquet::ColumnReader> reader_;
  Place to_;
  std::vector<std::int16_t> levels_{};
};

/// The columns of a row group, some of which are decoded into the caller's memory.
class RowGroup {
 public:
  RowGroup(std::shared_ptr<parquet::arrow::FileReader> file, std::shared_ptr<arrow::Schema> schema)
      : file_(std::move(file)),
        schema_(std::move(schema)),
        placed_(static_cast<std::size_t>(schema_->num_fields())) {}

  arrow::Status begin(int piece, const std::vector<int>& leaves, std::span<const Place> to) {
    const std::shared_ptr<parquet::RowGroupReader> group = file_->parquet_reader()->RowGroup(piece);
    left_ = group->metadata()->num_rows();
    std::vector<int> others;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      const arrow::Type::type type = schema_->field(static_cast<int>(i))->type()->id();
      const parquet::Type::type stored = group->metadata()->schema()->Column(leaves[i])->physical_type();
      if (!to.empty() && to[i] != nullptr &&
          ((type == arrow::Type::DOUBLE && stored == parquet::Type::DOUBLE) ||
           (type == arrow::Type::INT64 && stored == parquet::Type::INT64)))
        placed_[i].emplace(group->Column(leaves[i]), to[i]);
      else
        others.push_back(leaves[i]);
    }
    return others.empty() ? arrow::Status::OK() : batches_of(*file_, {piece}, others).Value(&others_);
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> next() {
    std::shared_ptr<arrow::RecordBatch> others;
    if (others_ != nullptr) ARROW_RETURN_NOT_OK(others_->ReadNext(&others));
    const std::int64_t rows = others_ == nullptr  ? std::min(left_, batch_rows)
                              : others == nullptr ? 0
                                                  : others->num_rows();
    left_ -= rows;
    if (left_ < 0) return arrow::Status::Invalid("it has more rows than the file's metadata says");
    if (rows == 0) return nullptr;
    std::vector<std::shared_ptr<arrow::Array>> columns;
    int other = 0;
    for (std::optional<PlacedColumn>& placed : placed_) {
      if (!placed) {
        columns.push_back(others->column(other++));
        continue;
      }
      ARROW_ASSIGN_OR_RAISE(columns.emplace_back(), placed->next(rows));
    }
    return arrow::RecordBatch::Make(schema_, rows, std::move(columns));
  }

 private:
  std::shared_ptr<parquet::arrow::FileReader> file_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::optional<PlacedColumn>> placed_;
  std::shared_ptr<arrow::RecordBatchReader> others_{};
  std::int64_t left_ = 0;  ///< rows that are not read yet
};

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
    std::vector<std::shared_ptr<arrow::Field>> fields;
    for (const int column : columns) {
      leaves.push_back(opened->manifest().schema_fields[static_cast<std::size_t>(column)].column_index);
      fields.push_back(schema().field(column));
    }
    const std::shared_ptr<parquet::arrow::FileReader> file = std::move(opened);
    return [file, leaves, names = arrow::schema(fields)](
               int piece, std::span<const Place> to) -> arrow::Result<Batches> {
      const auto group = std::make_shared<RowGroup>(file, names);
      ARROW_RETURN_NOT_OK(group->begin(piece, leaves, to));
      return [group] { return group->next(); };
    };
  }

 private:
  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::vector<int> dictionaries_;
};

/// A column with a larger compressed dictionary is read as texts, because each batch would have a copy of it.
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
