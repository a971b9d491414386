// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/arrow/plugin/arrow_plugin.h"

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

/// The caller's bytes as input and output files of Arrow.
namespace tessera::arrow_plugin {

/// The caller's input. Thread-safe, except for the functions that use the file position.
class Input final : public arrow::io::RandomAccessFile {
 public:
  explicit Input(const tessera_arrow_input& from) : from_(from) { set_mode(arrow::io::FileMode::READ); }

  /// Whether a read by the caller failed; the caller knows the reason.
  [[nodiscard]] bool has_failed() const noexcept { return failed_; }

  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  [[nodiscard]] bool closed() const override { return closed_; }
  arrow::Result<std::int64_t> Tell() const override { return position_; }
  arrow::Status Seek(std::int64_t position) override {
    position_ = position;
    return arrow::Status::OK();
  }
  arrow::Result<std::int64_t> GetSize() override { return from_.size; }
  arrow::Result<std::int64_t> Read(std::int64_t count, void* to) override {
    ARROW_ASSIGN_OR_RAISE(const std::int64_t got, ReadAt(position_, count, to));
    position_ += got;
    return got;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t count) override {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> got, ReadAt(position_, count));
    position_ += got->size();
    return got;
  }

  // Older versions of Arrow lack the functions with `may_be_short`, so `override` is omitted.
  // NOLINTBEGIN(modernize-use-override)
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Winconsistent-missing-override"
#endif
  arrow::Result<std::int64_t> ReadAt(std::int64_t position, std::int64_t count, void* to) {
    return ReadAt(position, count, true, to);
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(std::int64_t position, std::int64_t count) {
    return ReadAt(position, count, true);
  }
  arrow::Result<std::int64_t> ReadAt(std::int64_t position, std::int64_t count, bool may_be_short, void* to) {
    if (position < 0 || count < 0) return arrow::Status::Invalid("damaged: an impossible offset or size");
    const std::int64_t there = std::clamp<std::int64_t>(from_.size - position, 0, count);
    if (there < count && !may_be_short) return arrow::Status::IOError("it ends too early");
    const std::int64_t got = there == 0 ? 0 : from_.read_at(from_.context, position, there, to);
    if (got < 0) {
      failed_ = true;
      return arrow::Status::IOError("it cannot be read");
    }
    if (got < there) return arrow::Status::IOError("it has become shorter");
    return got;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(std::int64_t position, std::int64_t count,
                                                       bool may_be_short) {
    if (position < 0 || count < 0) return arrow::Status::Invalid("damaged: an impossible offset or size");
    // Allocate only what the file has, because a damaged size may request more.
    const std::int64_t there = std::clamp<std::int64_t>(from_.size - position, 0, count);
    if (there < count && !may_be_short) return arrow::Status::IOError("it ends too early");
    ARROW_ASSIGN_OR_RAISE(std::unique_ptr<arrow::Buffer> buffer, arrow::AllocateBuffer(there));
    ARROW_RETURN_NOT_OK(ReadAt(position, there, true, buffer->mutable_data()));
    return std::shared_ptr<arrow::Buffer>(std::move(buffer));
  }
#ifdef __clang__
#pragma clang diagnostic pop
#endif
  // NOLINTEND(modernize-use-override)

 private:
  tessera_arrow_input from_;
  std::int64_t position_ = 0;
  std::atomic<bool> closed_ = false;
  std::atomic<bool> failed_ = false;
};

class Output final : public arrow::io::OutputStream {
 public:
  explicit Output(const tessera_arrow_output& to) : to_(to) { set_mode(arrow::io::FileMode::WRITE); }

  /// Ends writing: later writes fail.
  void end() noexcept { ended_ = true; }

  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  [[nodiscard]] bool closed() const override { return closed_; }
  arrow::Result<std::int64_t> Tell() const override { return written_; }
  using OutputStream::Write;
  arrow::Status Write(const void* bytes, std::int64_t count) override {
    if (ended_ || (count > 0 && to_.write(to_.context, bytes, count) != 0)) {
      ended_ = true;
      return arrow::Status::IOError("it cannot be written");
    }
    written_ += count;
    return arrow::Status::OK();
  }

 private:
  tessera_arrow_output to_;
  std::int64_t written_ = 0;
  bool closed_ = false;
  bool ended_ = false;
};

}  // namespace tessera::arrow_plugin
