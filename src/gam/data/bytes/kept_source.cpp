// SPDX-License-Identifier: Apache-2.0
#include "gam/data/bytes/kept_source.hpp"

#include "base/huge_pages.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

KeptText::KeptText(Range bytes)
    : begin_(bytes.begin), text_(new (std::nothrow) char[static_cast<std::size_t>(bytes.size())]) {
  if (text_ == nullptr) return;
  size_ = static_cast<std::size_t>(bytes.size());
  base::prefer_huge_pages(text_.get(), size_);
}

void KeptText::keep(std::int64_t offset, std::span<const char> bytes) noexcept {
  const std::int64_t end = begin_ + static_cast<std::int64_t>(size_);
  const std::int64_t first = std::max(offset, begin_);
  const std::int64_t last = std::min(offset + std::ssize(bytes), end);
  if (first < last)
    std::memcpy(text_.get() + (first - begin_), bytes.data() + (first - offset),
                static_cast<std::size_t>(last - first));
}

std::span<const char> KeptText::from(std::int64_t offset) const noexcept {
  const std::span<const char> all(text_.get(), finished_);
  if (offset < begin_ || offset - begin_ >= std::ssize(all)) return {};
  return all.subspan(static_cast<std::size_t>(offset - begin_));
}

/// Another thread's source of the same bytes.
class KeptSource::Place final : public ByteSource {
 public:
  Place(KeptSource& source, std::unique_ptr<ByteSource> packed)
      : source_(source), packed_(std::move(packed)), cursor_{source.kept_, packed_.get()} {}

  [[nodiscard]] std::size_t read(std::span<char> buffer) override { return cursor_.read(buffer); }
  void seek(std::int64_t offset) override { cursor_.offset = offset; }
  [[nodiscard]] std::unique_ptr<ByteSource> for_another_thread() override {
    return source_.for_another_thread();
  }
  [[nodiscard]] std::int64_t bytes_read() const override { return source_.bytes_read(); }
  [[nodiscard]] const files::InputFile& file() const override { return source_.file(); }

 private:
  KeptSource& source_;
  std::unique_ptr<ByteSource> packed_;
  Cursor cursor_;
};

std::size_t KeptSource::Cursor::read(std::span<char> buffer) {
  const std::span<const char> text = kept.from(offset);
  std::size_t got = std::min(text.size(), buffer.size());
  if (got > 0) std::memcpy(buffer.data(), text.data(), got);
  offset += static_cast<std::int64_t>(got);
  if (got == buffer.size() || kept.is_all()) return got;
  if (packed_offset != offset) packed->seek(offset);
  const std::size_t unpacked = packed->read(buffer.subspan(got));
  kept.keep(offset, buffer.subspan(got, unpacked));
  offset += static_cast<std::int64_t>(unpacked);
  packed_offset = offset;
  return got + unpacked;
}

std::optional<std::int64_t> KeptSource::keep_all(std::int64_t max_bytes) {
  KeptText all({0, max_bytes});
  const auto size = packed_->unpack_all(all.room(), static_cast<std::size_t>(all.bytes()));
  place_.packed_offset = -1;
  if (!size) return std::nullopt;
  all.finish_all(static_cast<std::size_t>(*size));
  kept_ = std::move(all);
  return size;
}

std::unique_ptr<ByteSource> KeptSource::for_another_thread() {
  auto packed = packed_->for_another_thread();
  if (packed == nullptr && !keeps_all()) return nullptr;
  return std::make_unique<Place>(*this, std::move(packed));
}

}  // namespace TESSERA_NAMESPACE::gam
