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

/// A range of a source's bytes in memory; pages are allocated on first write.
class KeptText {
 public:
  KeptText() = default;
  /// Reserves room for the bytes; none if memory is exhausted.
  explicit KeptText(Range bytes);

  [[nodiscard]] const std::shared_ptr<char[]>& room() const noexcept { return text_; }
  /// Stores the given bytes, which begin at `offset`, as far as they fit. Different threads may store
  /// different bytes.
  void keep(std::int64_t offset, std::span<const char> bytes) noexcept;
  /// Marks all bytes in range as stored; they no longer change.
  void finish() noexcept { finished_ = size_; }
  /// Marks `size` bytes as stored, which are the whole source.
  void finish_all(std::size_t size) noexcept {
    size_ = finished_ = size;
    all_ = true;
  }
  [[nodiscard]] bool is_all() const noexcept { return all_; }
  /// Bytes of memory in use.
  [[nodiscard]] std::int64_t bytes() const noexcept { return static_cast<std::int64_t>(size_); }

  /// The bytes from `offset` on; empty if they are not stored, or before `finish`.
  [[nodiscard]] std::span<const char> from(std::int64_t offset) const noexcept;

 private:
  std::int64_t begin_ = 0;
  std::size_t size_ = 0;
  std::size_t finished_ = 0;
  bool all_ = false;
  std::shared_ptr<char[]> text_;
};

/// A packed file with part of its unpacked bytes in memory, to avoid unpacking them again.
///
///     KeptSource source(path, gzip_packing);
///     source.begin_keeping({0, size});
///     …                                  // threads read all of that, once
///     source.end_keeping();
class KeptSource final : public ByteSource {
 public:
  /// As `PackedSource`.
  KeptSource(const std::string& path, const Packing& packing, OpenOptions options = {})
      : packed_(path, packing, std::move(options)) {}

  [[nodiscard]] PackedSource& packed() noexcept { return packed_; }
  /// Unpacks the whole file into memory if it has at most `max_bytes`, and returns its size.
  [[nodiscard]] std::optional<std::int64_t> keep_all(std::int64_t max_bytes);
  [[nodiscard]] bool keeps_all() const noexcept { return kept_.is_all(); }
  /// Bytes of memory that the stored text takes.
  [[nodiscard]] std::int64_t kept_bytes() const noexcept { return kept_.bytes(); }
  /// Starts storing these bytes, all of which must be read before `end_keeping`.
  void begin_keeping(Range bytes) { kept_ = KeptText(bytes); }
  void end_keeping() noexcept { kept_.finish(); }
  /// Frees the memory: stored bytes are unpacked again. No other thread may have a source of this one.
  void let_go() noexcept { kept_ = {}; }

  [[nodiscard]] std::size_t read(std::span<char> buffer) override { return reader_.read(buffer); }
  void seek(std::int64_t offset) override { reader_.seek(offset); }
  [[nodiscard]] std::unique_ptr<ByteReader> for_another_thread() override;
  [[nodiscard]] std::int64_t bytes_read() const override { return packed_.bytes_read(); }
  [[nodiscard]] const files::InputFile& file() const override { return packed_.file(); }

 private:
  /// Reads stored bytes from memory, others from the packed file.
  class Reader final : public ByteReader {
   public:
    /// `packed` may be null if all bytes are stored.
    Reader(KeptText& kept, ByteReader* packed) : kept_(kept), packed_(packed) {}
    Reader(KeptText& kept, std::unique_ptr<ByteReader> packed)
        : kept_(kept), own_(std::move(packed)), packed_(own_.get()) {}

    [[nodiscard]] std::size_t read(std::span<char> buffer) override;
    void seek(std::int64_t offset) override { offset_ = offset; }
    /// The position of `packed` is not known any more.
    void forget_position() noexcept { packed_offset_ = -1; }

   private:
    KeptText& kept_;
    std::unique_ptr<ByteReader> own_;
    ByteReader* packed_;
    std::int64_t offset_ = 0;
    std::int64_t packed_offset_ = 0;  ///< position of `packed_`
  };

  PackedSource packed_;
  KeptText kept_;
  Reader reader_{kept_, &packed_};
};

}  // namespace TESSERA_NAMESPACE::gam
