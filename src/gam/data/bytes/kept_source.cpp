// SPDX-License-Identifier: Apache-2.0
#include "gam/data/bytes/kept_source.hpp"

#include "base/huge_pages.hpp"

#include <algorithm>
#include <cstring>
#include <new>

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

std::size_t KeptSource::Reader::read(std::span<char> buffer) {
  const std::span<const char> text = kept_.from(offset_);
  std::size_t got = std::min(text.size(), buffer.size());
  if (got > 0) std::memcpy(buffer.data(), text.data(), got);
  offset_ += static_cast<std::int64_t>(got);
  if (got == buffer.size() || kept_.is_all()) return got;
  if (packed_offset_ != offset_) packed_->seek(offset_);
  const std::size_t unpacked = packed_->read(buffer.subspan(got));
  kept_.keep(offset_, buffer.subspan(got, unpacked));
  offset_ += static_cast<std::int64_t>(unpacked);
  packed_offset_ = offset_;
  return got + unpacked;
}

std::optional<std::int64_t> KeptSource::keep_all(std::int64_t max_bytes) {
  KeptText all({0, max_bytes});
  reader_.forget_position();
  const auto size = packed_.unpack_all(all.room(), static_cast<std::size_t>(all.bytes()));
  if (!size) return std::nullopt;
  all.finish_all(static_cast<std::size_t>(*size));
  kept_ = std::move(all);
  return size;
}

std::unique_ptr<ByteReader> KeptSource::for_another_thread() {
  auto packed = packed_.for_another_thread();
  if (packed == nullptr && !keeps_all()) return nullptr;
  return std::make_unique<Reader>(kept_, std::move(packed));
}

}  // namespace TESSERA_NAMESPACE::gam
