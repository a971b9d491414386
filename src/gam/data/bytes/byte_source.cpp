// SPDX-License-Identifier: Apache-2.0
#include "gam/data/bytes/byte_source.hpp"

#include <atomic>
#include <utility>

#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

class PlainReader final : public ByteReader {
 public:
  PlainReader(const files::InputFile& file, std::atomic<std::int64_t>& bytes_read)
      : file_(file), bytes_read_(bytes_read) {}

  std::size_t read(std::span<char> buffer) override {
    const std::size_t got = file_.read_at(offset_, buffer);
    offset_ += static_cast<std::int64_t>(got);
    bytes_read_ += static_cast<std::int64_t>(got);
    return got;
  }
  void seek(std::int64_t offset) override { offset_ = offset; }

 private:
  const files::InputFile& file_;
  std::atomic<std::int64_t>& bytes_read_;
  std::int64_t offset_ = 0;
};

class PlainSource final : public ByteSource {
 public:
  PlainSource(const std::string& path, BetweenReads between) : file_(path), between_(std::move(between)) {}

  std::size_t read(std::span<char> buffer) override {
    if (between_) between_();
    return reader_.read(buffer);
  }
  void seek(std::int64_t offset) override { reader_.seek(offset); }
  [[nodiscard]] std::unique_ptr<ByteReader> for_another_thread() override {
    return std::make_unique<PlainReader>(file_, bytes_read_);
  }
  [[nodiscard]] std::int64_t bytes_read() const override { return bytes_read_; }
  [[nodiscard]] const files::InputFile& file() const override { return file_; }

 private:
  files::InputFile file_;
  BetweenReads between_;
  std::atomic<std::int64_t> bytes_read_ = 0;
  PlainReader reader_{file_, bytes_read_};
};

}  // namespace

std::unique_ptr<ByteSource> open_plain(const std::string& path, BetweenReads between) {
  return std::make_unique<PlainSource>(path, std::move(between));
}

}  // namespace TESSERA_NAMESPACE::gam
