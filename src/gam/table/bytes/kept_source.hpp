// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/bytes/byte_source.hpp"

#include <tessera/partition/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace tessera::gam {

/// Some bytes of a source in memory, whose pages are taken as they are first written to.
class KeptText {
 public:
  KeptText() = default;
  /// Room for them; none where the system gives no memory.
  explicit KeptText(Range bytes);

  [[nodiscard]] const std::shared_ptr<char[]>& room() const noexcept { return text_; }
  /// Keeps what of the bytes from `offset` on there is room for. Different threads may have different bytes.
  void keep(std::int64_t offset, std::span<const char> bytes) noexcept;
  /// From now on all that there was room for is there, and does not change.
  void finish() noexcept { finished_ = size_; }
  /// The same of so many bytes, which are all that the source has.
  void finish_all(std::size_t size) noexcept {
    size_ = finished_ = size;
    all_ = true;
  }
  [[nodiscard]] bool is_all() const noexcept { return all_; }
  /// The bytes that it takes.
  [[nodiscard]] std::int64_t bytes() const noexcept { return static_cast<std::int64_t>(size_); }

  /// The bytes from `offset` on; none if they are not there, or not all there yet.
  [[nodiscard]] std::span<const char> from(std::int64_t offset) const noexcept;

 private:
  std::int64_t begin_ = 0;
  std::size_t size_ = 0;
  std::size_t finished_ = 0;
  bool all_ = false;
  std::shared_ptr<char[]> text_;
};

/// A packed file some of whose unpacked bytes are kept, so that what reads them again has them at once.
///
///     KeptSource source(open_gzip(path));
///     source.begin_keeping({0, size});
///     …                                  // threads read all of that, once
///     source.end_keeping();
class KeptSource final : public ByteSource {
 public:
  explicit KeptSource(std::unique_ptr<PackedSource> packed) : packed_(std::move(packed)) {}

  [[nodiscard]] PackedSource& packed() noexcept { return *packed_; }
  /// Unpacks all of the file, if that are no more than `max_bytes`: returns how many.
  [[nodiscard]] std::optional<std::int64_t> keep_all(std::int64_t max_bytes);
  [[nodiscard]] bool keeps_all() const noexcept { return kept_.is_all(); }
  /// What is kept takes so many bytes of memory.
  [[nodiscard]] std::int64_t kept_bytes() const noexcept { return kept_.bytes(); }
  /// What is read of these bytes until `end_keeping`, all of them, is kept.
  void begin_keeping(Range bytes) { kept_ = KeptText(bytes); }
  void end_keeping() noexcept { kept_.finish(); }
  /// Gives the memory back: what was kept is unpacked again. No other thread has a source of this one.
  void let_go() noexcept { kept_ = {}; }

  [[nodiscard]] std::size_t read(std::span<char> buffer) override { return place_.read(buffer); }
  void seek(std::int64_t offset) override { place_.offset = offset; }
  [[nodiscard]] std::unique_ptr<ByteSource> for_another_thread() override;
  [[nodiscard]] std::int64_t bytes_read() const override { return packed_->bytes_read(); }
  [[nodiscard]] const files::InputFile& file() const override { return packed_->file(); }

 private:
  class Place;
  /// Where a thread reads: what is kept from memory, and else from the packed file.
  struct Cursor {
    KeptText& kept;
    ByteSource* packed;  ///< may be null where all is kept
    std::int64_t offset = 0;
    std::int64_t packed_offset = 0;  ///< where `packed` is

    [[nodiscard]] std::size_t read(std::span<char> buffer);
  };

  std::unique_ptr<PackedSource> packed_;
  KeptText kept_;
  Cursor place_{kept_, packed_.get()};
};

}  // namespace tessera::gam
