// SPDX-License-Identifier: Apache-2.0
#include "byte_source.hpp"

#include <tessera/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

namespace tessera::fit {
namespace {

[[noreturn]] void cannot_read(const std::string& path, const std::string& reason) {
  throw Error(ErrorCode::input, fmt::format("{}: cannot be read: {}", path, reason));
}

std::string reason_of(int code) {
  return std::generic_category().message(code);
}

class PlainSource final : public ByteSource {
 public:
  PlainSource(const std::string& path, BetweenReads between)
      : path_(path), between_(std::move(between)), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file_ < 0) cannot_read(path_, reason_of(errno));
  }
  ~PlainSource() override { ::close(file_); }
  PlainSource(const PlainSource&) = delete;
  PlainSource& operator=(const PlainSource&) = delete;

  std::size_t read(std::span<char> buffer) override {
    if (between_) between_();
    std::size_t got = 0;
    while (got < buffer.size()) {
      const ssize_t count = ::pread(file_, buffer.data() + got, buffer.size() - got, offset_);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) cannot_read(path_, reason_of(errno));
      if (count == 0) break;
      got += static_cast<std::size_t>(count);
      offset_ += count;
      bytes_read_ += count;
    }
    return got;
  }
  void seek(std::int64_t offset) override { offset_ = offset; }
  [[nodiscard]] std::int64_t bytes_read() const override { return bytes_read_; }

 private:
  std::string path_;
  BetweenReads between_;
  int file_;
  std::int64_t offset_ = 0;
  std::int64_t bytes_read_ = 0;
};

class GzipSource final : public ByteSource {
 public:
  GzipSource(const std::string& path, BetweenReads between)
      : path_(path), between_(std::move(between)), file_(gzopen(path.c_str(), "rb")) {
    if (file_ == nullptr) cannot_read(path_, reason_of(errno));
    gzbuffer(file_, 1U << 18);
  }
  ~GzipSource() override { gzclose_r(file_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  std::size_t read(std::span<char> buffer) override {
    if (between_) between_();
    std::size_t got = 0;
    while (got < buffer.size()) {
      const auto piece = static_cast<unsigned>(std::min(buffer.size() - got, std::size_t{1} << 30));
      const int count = gzread(file_, buffer.data() + got, piece);
      check();
      if (count <= 0) break;
      got += static_cast<std::size_t>(count);
    }
    return got;
  }

  void seek(std::int64_t offset) override {
    // zlib goes back by unpacking from the beginning.
    if (offset < gztell(file_)) {
      before_rewind_ += gzoffset(file_);
      if (gzseek(file_, 0, SEEK_SET) < 0) check();
    }
    // What is passed over is unpacked all the same.
    std::vector<char> passed(std::size_t{1} << 20);
    for (std::int64_t left = 0; (left = offset - gztell(file_)) > 0;) {
      if (read(std::span(passed).first(std::min(passed.size(), static_cast<std::size_t>(left)))) == 0) return;
    }
  }
  [[nodiscard]] std::int64_t bytes_read() const override { return before_rewind_ + gzoffset(file_); }

 private:
  void check() {
    int code = Z_OK;
    const char* reason = gzerror(file_, &code);
    if (code == Z_OK || code == Z_STREAM_END) return;
    cannot_read(path_, code == Z_ERRNO ? reason_of(errno) : fmt::format("damaged gzip data ({})", reason));
  }

  std::string path_;
  BetweenReads between_;
  gzFile file_;
  std::int64_t before_rewind_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> open_plain(const std::string& path, BetweenReads between) {
  return std::make_unique<PlainSource>(path, std::move(between));
}
std::unique_ptr<ByteSource> open_gzip(const std::string& path, BetweenReads between) {
  return std::make_unique<GzipSource>(path, std::move(between));
}

}  // namespace tessera::fit
