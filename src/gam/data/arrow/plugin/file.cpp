// SPDX-License-Identifier: Apache-2.0
#include "gam/data/arrow/plugin/file.hpp"

#include "gam/data/arrow/plugin/values.hpp"

#include <arrow/c/bridge.h>

#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace tessera::arrow_plugin {

std::atomic<std::int64_t> most_buffer_bytes = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);

namespace {

class BoundedMemory final : public arrow::ProxyMemoryPool {
 public:
  using ProxyMemoryPool::Allocate;
  using ProxyMemoryPool::ProxyMemoryPool;
  using ProxyMemoryPool::Reallocate;

  arrow::Status Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) override {
    ARROW_RETURN_NOT_OK(check(size));
    return ProxyMemoryPool::Allocate(size, alignment, out);
  }
  arrow::Status Reallocate(std::int64_t old_size, std::int64_t new_size, std::int64_t alignment,
                           std::uint8_t** out) override {
    ARROW_RETURN_NOT_OK(check(new_size));
    return ProxyMemoryPool::Reallocate(old_size, new_size, alignment, out);
  }

 private:
  static arrow::Status check(std::int64_t size) {
    return size <= most_buffer_bytes
               ? arrow::Status::OK()
               : arrow::Status::OutOfMemory("it needs ", size, " bytes in one buffer, more than the maximum");
  }
};

/// Record batches for the engine, of pieces in order.
class Stream final : public arrow::RecordBatchReader {
 public:
  Stream(std::shared_ptr<const File> file, int first, int end, std::span<const std::int64_t> columns,
         std::span<void* const> to)
      : file_(std::move(file)), piece_(first - 1), end_(end) {
    for (const std::int64_t column : columns) asked_.push_back(static_cast<int>(column));
    read_ = asked_;
    std::ranges::sort(read_);
    read_.erase(std::unique(read_.begin(), read_.end()), read_.end());
    std::vector<std::shared_ptr<arrow::Field>> fields;
    for (const int column : asked_) {
      const arrow::Field& field = *file_->schema().field(column);
      fields.push_back(arrow::field(field.name(), converted_type(field.type())));
    }
    schema_ = arrow::schema(fields);
    known_.resize(read_.size());
    to_.resize(read_.size());
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (to[i] != nullptr) to_[place_of(asked_[i])] = static_cast<Place>(to[i]);
    }
  }

  [[nodiscard]] std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    return guarded([&] { return next().Value(batch); });
  }

 private:
  /// The next batch; null at the end.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> next() {
    while (true) {
      if (rest_ != nullptr && rest_->num_rows() > 0) return next_slice();
      rest_ = nullptr;
      if (batches_) {
        arrow::Status status = guarded([&] { return batches_().Value(&rest_); });
        if (status.ok() && rest_ != nullptr) status = check_batch();
        if (!status.ok()) return in_piece(status);
        if (rest_ != nullptr) continue;
        if (rows_ != rows_of_piece())
          return in_piece(arrow::Status::Invalid("it has ", rows_, " rows, but the file's metadata says ",
                                                 rows_of_piece()));
      }
      batches_ = nullptr;
      if (piece_ + 1 >= end_) return nullptr;
      for (Place& to : to_) {
        if (to != nullptr) to += sizeof(double) * static_cast<std::size_t>(rows_);
      }
      ++piece_;
      rows_ = 0;
      const arrow::Status status = guarded([&] { return begin_piece(); });
      if (!status.ok()) return in_piece(status);
    }
  }

  /// The index of a column among `read_`.
  [[nodiscard]] std::size_t place_of(int column) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(read_, column) - read_.begin());
  }
  [[nodiscard]] std::int64_t rows_of_piece() const noexcept { return file_->contents().piece_rows[piece_]; }

  arrow::Status begin_piece() {
    if (read_.empty()) {
      batches_ = [left = rows_of_piece()]() mutable -> arrow::Result<std::shared_ptr<arrow::RecordBatch>> {
        if (left == 0) return nullptr;
        const std::vector<std::shared_ptr<arrow::Array>> none;
        return arrow::RecordBatch::Make(arrow::schema({}), std::exchange(left, 0), none);
      };
      return arrow::Status::OK();
    }
    if (!reader_) ARROW_RETURN_NOT_OK(file_->reader(read_).Value(&reader_));
    return reader_(piece_, to_).Value(&batches_);
  }

  arrow::Status check_batch() {
    rows_ += rest_->num_rows();
    if (rest_->num_columns() != static_cast<int>(read_.size()))
      return arrow::Status::Invalid("it has ", rest_->num_columns(), " of ", read_.size(), " columns");
    for (int i = 0; i < rest_->num_columns(); ++i) {
      const std::string& name = file_->schema().field(read_[i])->name();
      const arrow::Array& values = *rest_->column(i);
      const arrow::Status status = values.length() == rest_->num_rows()
                                       ? validate(values, known_[static_cast<std::size_t>(i)])
                                       : arrow::Status::Invalid("it has ", values.length(), " values");
      if (!status.ok()) return arrow::Status::Invalid("column '", name, "': ", line_of(status));
    }
    return arrow::Status::OK();
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> next_slice() {
    const std::int64_t rows = std::min(rest_->num_rows(), batch_rows);
    const std::shared_ptr<arrow::RecordBatch> slice = rest_->Slice(0, rows);
    rest_ = rest_->Slice(rows);
    std::vector<std::shared_ptr<arrow::Array>> columns;
    for (int i = 0; i < schema_->num_fields(); ++i) {
      const auto place = static_cast<int>(place_of(asked_[i]));
      std::shared_ptr<arrow::Array> column;
      const arrow::Status status =
          guarded([&] { return converted(slice->column(place), file_->inexact(asked_[i])).Value(&column); });
      const std::string& name = schema_->field(i)->name();
      if (!status.ok()) return in_piece(arrow::Status::Invalid("column '", name, "': ", line_of(status)));
      if (!column->type()->Equals(*schema_->field(i)->type()))
        return in_piece(arrow::Status::Invalid("column '", name, "' has the type ",
                                               column->type()->ToString(), ", and not ",
                                               schema_->field(i)->type()->ToString()));
      columns.push_back(std::move(column));
    }
    return arrow::RecordBatch::Make(schema_, rows, std::move(columns));
  }

  /// Adds the piece to the failure's message and, if reading the columns one by one finds it, the column.
  arrow::Status in_piece(const arrow::Status& status) {
    std::string place = (file_->contents().format == TESSERA_ARROW_PARQUET ? "row group " : "record batch ") +
                        std::to_string(piece_ + 1);
    const std::string line = line_of(status);
    const bool is_found = line.starts_with("column '") || file_->input()->has_failed() ||
                          status.IsOutOfMemory() || read_.size() < 2;
    if (read_.size() == 1 && !line.starts_with("column '"))
      place += ", column '" + file_->schema().field(read_.front())->name() + "'";
    batches_ = nullptr;
    reader_ = nullptr;
    for (std::size_t i = 0; !is_found && i < read_.size(); ++i) {
      const std::vector<int> one{read_[i]};
      const arrow::Status of_column = guarded([&]() -> arrow::Status {
        ARROW_ASSIGN_OR_RAISE(const Reader reader, file_->reader(one));
        ARROW_ASSIGN_OR_RAISE(const Batches batches, reader(piece_, {}));
        while (true) {
          ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::RecordBatch> batch, batches());
          if (batch == nullptr) return arrow::Status::OK();
        }
      });
      if (of_column.ok()) continue;
      place += ", column '" + file_->schema().field(read_[i])->name() + "'";
      break;
    }
    end_ = piece_;  // ends the stream
    // A column's name may have line breaks too.
    return arrow::Status::Invalid(line_of(arrow::Status::Invalid(place, ": ", line)));
  }

  std::shared_ptr<const File> file_;
  int piece_;  ///< the piece being read
  int end_;
  std::int64_t rows_ = 0;     ///< rows of the piece read so far
  std::vector<int> asked_{};  ///< columns, in the caller's order
  std::vector<int> read_{};   ///< the same columns, in the file's order
  std::vector<Place> to_{};   ///< destinations of these columns in the piece being read
  std::shared_ptr<arrow::Schema> schema_{};
  Reader reader_{};
  Batches batches_{};
  std::shared_ptr<arrow::RecordBatch> rest_{};
  std::vector<std::shared_ptr<arrow::Array>> known_{};  ///< dictionaries that are known to be valid
};

}  // namespace

File::File(tessera_arrow_format format, std::shared_ptr<Input> input, std::shared_ptr<arrow::Schema> schema,
           std::vector<std::int64_t> piece_rows)
    : input_(std::move(input)),
      schema_(std::move(schema)),
      piece_rows_(std::move(piece_rows)),
      inexact_(static_cast<std::size_t>(schema_->num_fields())) {
  std::vector<std::shared_ptr<arrow::Field>> fields;
  for (const std::shared_ptr<arrow::Field>& field : schema_->fields())
    fields.push_back(arrow::field(field->name(), converted_type(field->type())));
  const arrow::Status status = arrow::ExportSchema(*arrow::schema(fields), &exported_);
  if (!status.ok()) throw std::runtime_error(status.message());
  contents_ = {.format = format,
               .rows = std::accumulate(piece_rows_.begin(), piece_rows_.end(), std::int64_t{0}),
               .pieces = std::ssize(piece_rows_),
               .piece_rows = piece_rows_.data(),
               .schema = &exported_};
}

File::~File() {
  if (exported_.release != nullptr) exported_.release(&exported_);
}

arrow::MemoryPool* memory() {
  static auto* const pool = new BoundedMemory(arrow::default_memory_pool());
  return pool;
}

arrow::Status open_stream(std::shared_ptr<const File> file, std::int64_t first, std::int64_t end,
                          std::span<const std::int64_t> columns, std::span<void* const> to,
                          ArrowArrayStream& out) {
  const std::int64_t pieces = file->contents().pieces;
  if (first < 0 || end < first || end > pieces)
    return arrow::Status::Invalid("it has no pieces ", first, " to ", end, " of ", pieces);
  for (const std::int64_t column : columns) {
    if (column < 0 || column >= file->schema().num_fields())
      return arrow::Status::Invalid("it has no column ", column);
    const arrow::Field& field = *file->schema().field(static_cast<int>(column));
    const std::shared_ptr<arrow::DataType> type = converted_type(field.type());
    if (arrow::is_nested(type->id()) || type->id() == arrow::Type::RUN_END_ENCODED)
      return arrow::Status::Invalid("column '", field.name(), "' is nested (", type->ToString(),
                                    "): write each part as a separate column, or leave the column out");
  }
  return arrow::ExportRecordBatchReader(
      std::make_shared<Stream>(std::move(file), static_cast<int>(first), static_cast<int>(end), columns, to),
      &out);
}

std::string line_of(const arrow::Status& status) {
  std::string line = status.message();
  std::ranges::replace(line, '\n', ' ');
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

}  // namespace tessera::arrow_plugin
