// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/packed_source.hpp"

#include <tessera/partition/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

/// Cache of a range of decompressed bytes. A page is allocated at its first write.
class KeptText {
 public:
  KeptText() = default;
  /// Reserves address space; caches nothing if memory is exhausted.
  explicit KeptText(Range bytes);

  [[nodiscard]] const std::shared_ptr<char[]>& room() const noexcept { return text_; }
  /// Stores the bytes if they are in the range. Thread-safe for disjoint ranges.
  void keep(std::int64_t offset, std::span<const char> bytes) noexcept;
  /// Marks the range as complete; the bytes no longer change.
  void finish() noexcept { finished_ = size_; }
  /// Marks `size` bytes as the complete source.
  void finish_all(std::size_t size) noexcept {
    size_ = finished_ = size;
    all_ = true;
  }
  [[nodiscard]] bool is_all() const noexcept { return all_; }
  [[nodiscard]] std::int64_t bytes() const noexcept { return static_cast<std::int64_t>(size_); }

  /// The cached bytes from `offset` to the end; empty if not cached, or before `finish`.
  [[nodiscard]] std::span<const char> from(std::int64_t offset) const noexcept;

 private:
  std::int64_t begin_ = 0;
  std::size_t size_ = 0;
  std::size_t finished_ = 0;
  bool all_ = false;
  std::shared_ptr<char[]> text_;
};

/// A compressed file with a cache of a range of its decompressed bytes.
///
///     KeptSource source(path, gzip_packing);
///     source.begin_keeping({0, size});
///     …                                  // threads read the whole range
///     source.end_keeping();
class KeptSource final : public ByteSource {
 public:
  KeptSource(const std::string& path, const Packing& packing, OpenOptions options = {})
      : packed_(path, packing, std::move(options)) {}

  [[nodiscard]] PackedSource& packed() noexcept { return packed_; }
  /// Decompresses the whole file into the cache, and returns the decompressed size; nothing if a cache of
  /// `max_bytes` bytes is too small.
  [[nodiscard]] std::optional<std::int64_t> keep_all(std::int64_t max_bytes);
  [[nodiscard]] bool keeps_all() const noexcept { return kept_.is_all(); }
  [[nodiscard]] std::int64_t kept_bytes() const noexcept { return kept_.bytes(); }
  /// Starts to cache this range; all its bytes must be read before `end_keeping`.
  void begin_keeping(Range bytes) { kept_ = KeptText(bytes); }
  void end_keeping() noexcept { kept_.finish(); }
  /// Frees the cache. No other thread may have a reader of this source.
  void evict() noexcept { kept_ = {}; }

  [[nodiscard]] std::size_t read(std::span<char> buffer) override { return reader_.read(buffer); }
  void seek(std::int64_t offset) override { reader_.seek(offset); }
  [[nodiscard]] std::unique_ptr<ByteReader> for_another_thread() override;
  [[nodiscard]] std::int64_t bytes_read() const override { return packed_.bytes_read(); }
  [[nodiscard]] const files::InputFile& file() const override { return packed_.file(); }

 private:
  /// Reads cached bytes from memory and other bytes from the file.
  class Reader final : public ByteReader {
   public:
    /// `packed` may be null if the cache has all bytes.
    Reader(KeptText& kept, ByteReader* packed) : kept_(kept), packed_(packed) {}
    Reader(KeptText& kept, std::unique_ptr<ByteReader> packed)
        : kept_(kept), own_(std::move(packed)), packed_(own_.get()) {}

    [[nodiscard]] std::size_t read(std::span<char> buffer) override;
    void seek(std::int64_t offset) override { offset_ = offset; }
    /// To be called after another reader has changed the position of `packed`.
    void forget_position() noexcept { packed_offset_ = -1; }

   private:
    KeptText& kept_;
    std::unique_ptr<ByteReader> own_;
    ByteReader* packed_;
    std::int64_t offset_ = 0;
    std::int64_t packed_offset_ = 0;  ///< position of `packed_`; -1: unknown
  };

  PackedSource packed_;
  KeptText kept_;
  Reader reader_{kept_, &packed_};
};

}  // namespace TESSERA_NAMESPACE::gam
