// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fuzz_target.hpp"
#include "gam/data/bytes/byte_source.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace tessera::fuzz {

/// A plain file in memory.
class MemorySource final : public gam::ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : bytes_(bytes) {}

  std::size_t read(std::span<char> buffer) override {
    const std::size_t got = std::min(buffer.size(), bytes_.size() - std::min(at_, bytes_.size()));
    if (got > 0) std::memcpy(buffer.data(), bytes_.data() + at_, got);
    at_ += got;
    return got;
  }
  void seek(std::int64_t offset) override { at_ = static_cast<std::size_t>(offset); }
  [[nodiscard]] std::unique_ptr<gam::ByteReader> for_another_thread() override {
    return std::make_unique<MemorySource>(bytes_);
  }
  [[nodiscard]] std::int64_t bytes_read() const override { return 0; }
  [[nodiscard]] const files::InputFile& file() const override {
    require(false, "bytes in memory have no file");
    std::abort();
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

}  // namespace tessera::fuzz
