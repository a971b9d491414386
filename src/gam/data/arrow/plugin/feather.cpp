// SPDX-License-Identifier: Apache-2.0
#include "gam/data/arrow/plugin/file.hpp"

#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>

#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>

namespace tessera::arrow_plugin {
namespace {

arrow::ipc::IpcReadOptions options_of(const std::vector<int>& columns) {
  arrow::ipc::IpcReadOptions options;
  options.use_threads = false;
  options.memory_pool = memory();
  options.included_fields = columns;
  return options;
}

/// A position in the metadata of an IPC file, a FlatBuffer (https://flatbuffers.dev/internals). Needed
/// because Arrow's reader returns the number of rows of a record batch only with the values.
class Metadata {
 public:
  explicit Metadata(std::span<const std::uint8_t> bytes) : bytes_(bytes) { at_ = get<std::uint32_t>(0); }

  template <class T>
  [[nodiscard]] T get(std::size_t at) const {
    if (at > bytes_.size() || bytes_.size() - at < sizeof(T))
      throw std::out_of_range("its metadata is damaged");
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof(T));
    return value;
  }
  /// The position of a table's field; 0 if the field has its default.
  [[nodiscard]] std::size_t field(std::size_t number) const {
    const std::size_t fields = at_ - static_cast<std::size_t>(std::int64_t{get<std::int32_t>(at_)});
    const std::size_t entry = 4 + 2 * number;
    if (entry + 2 > get<std::uint16_t>(fields)) return 0;
    const auto offset = get<std::uint16_t>(fields + entry);
    return offset == 0 ? 0 : at_ + offset;
  }
  [[nodiscard]] std::size_t follow(std::size_t at) const { return at + get<std::uint32_t>(at); }
  /// The table that a field refers to.
  [[nodiscard]] Metadata table(std::size_t number) const {
    Metadata inner = *this;
    inner.at_ = follow(field(number));
    return inner;
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;  ///< where the table begins
};

std::span<const std::uint8_t> bytes_of(const arrow::Buffer& buffer) {
  return {buffer.data(), static_cast<std::size_t>(buffer.size())};
}

/// The number of rows of the record batch whose message begins at this offset (format/Message.fbs).
arrow::Result<std::int64_t> rows_of_message(Input& input, std::int64_t offset, std::int64_t size,
                                            std::int64_t body_size) {
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Buffer> message, input.ReadAt(offset, size));
  std::span<const std::uint8_t> bytes = bytes_of(*message);
  // The metadata follow their size; since version 0.15, four bytes 0xff precede the size.
  constexpr std::uint8_t continued[] = {0xff, 0xff, 0xff, 0xff};
  const bool is_new = bytes.size() > 8 && std::memcmp(bytes.data(), continued, 4) == 0;
  const std::size_t before = is_new ? 8 : 4;
  if (bytes.size() <= before) return arrow::Status::Invalid("its metadata is damaged");
  const Metadata metadata(bytes.subspan(before));
  constexpr std::uint8_t record_batch = 3;
  if (metadata.field(1) == 0 || metadata.get<std::uint8_t>(metadata.field(1)) != record_batch)
    return arrow::Status::Invalid("its metadata is damaged");
  // Arrow would allocate the size in the message before comparing it with the size in the footer.
  if (metadata.field(3) == 0 ? body_size != 0 : metadata.get<std::int64_t>(metadata.field(3)) != body_size)
    return arrow::Status::Invalid("its metadata is damaged");
  const Metadata batch = metadata.table(2);
  const std::int64_t rows = batch.field(0) == 0 ? 0 : batch.get<std::int64_t>(batch.field(0));
  if (rows < 0) return arrow::Status::Invalid("a record batch has ", rows, " rows");
  return rows;
}

/// The number of rows of each record batch of a file, whose footer Arrow has read before (format/File.fbs).
arrow::Result<std::vector<std::int64_t>> rows_of_batches(Input& input, int batches) {
  constexpr std::int64_t end_bytes = 10;  // the footer's size, and ARROW1
  ARROW_ASSIGN_OR_RAISE(const std::int64_t size, input.GetSize());
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Buffer> end, input.ReadAt(size - end_bytes, end_bytes));
  std::int32_t footer_size = 0;
  std::memcpy(&footer_size, end->data(), sizeof footer_size);
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Buffer> footer,
                        input.ReadAt(size - end_bytes - footer_size, footer_size));
  const Metadata metadata(bytes_of(*footer));
  std::vector<std::int64_t> rows;
  if (batches == 0) return rows;
  const std::size_t blocks = metadata.follow(metadata.field(3));
  std::int64_t all = 0;
  for (int i = 0; i < batches; ++i) {
    const std::size_t block = blocks + 4 + 24 * static_cast<std::size_t>(i);
    ARROW_ASSIGN_OR_RAISE(const std::int64_t one, rows_of_message(input, metadata.get<std::int64_t>(block),
                                                                  metadata.get<std::int32_t>(block + 8),
                                                                  metadata.get<std::int64_t>(block + 16)));
    if (one > std::numeric_limits<std::int64_t>::max() - all)
      return arrow::Status::Invalid("its record batches have too many rows");
    all += one;
    rows.push_back(one);
  }
  return rows;
}

class FeatherFile final : public File {
 public:
  using File::File;

  arrow::Result<Reader> reader(const std::vector<int>& columns) const override {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::ipc::RecordBatchFileReader> file,
                          arrow::ipc::RecordBatchFileReader::Open(input(), options_of(columns)));
    return [file](int piece, std::span<const Place> /*to*/) -> arrow::Result<Batches> {
      return [file, piece, is_read = false]() mutable -> arrow::Result<std::shared_ptr<arrow::RecordBatch>> {
        if (std::exchange(is_read, true)) return nullptr;
        return file->ReadRecordBatch(piece);
      };
    };
  }
};

}  // namespace

arrow::Result<std::shared_ptr<File>> open_feather(std::shared_ptr<Input> input) {
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::ipc::RecordBatchFileReader> file,
                        arrow::ipc::RecordBatchFileReader::Open(input, options_of({})));
  ARROW_ASSIGN_OR_RAISE(std::vector<std::int64_t> piece_rows,
                        rows_of_batches(*input, file->num_record_batches()));
  return std::make_shared<FeatherFile>(TESSERA_ARROW_FEATHER, std::move(input), file->schema(),
                                       std::move(piece_rows));
}

}  // namespace tessera::arrow_plugin
