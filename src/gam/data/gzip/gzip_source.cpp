// SPDX-License-Identifier: Apache-2.0
#include "gam/data/gzip/gzip_source.hpp"

#include "base/signals_blocked.hpp"
#include "gam/data/bytes/streamed_source.hpp"
#include "gam/data/gzip/gzip_members.hpp"
#include "gam/data/gzip/gzip_unpacker.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Maximum size of a packed file that is read into memory at once: a larger one would block for too long.
constexpr std::int64_t most_at_once = std::int64_t{1} << 30;

/// As `unpack_gzip`, on a thread of its own, since a member of possibly gigabytes cannot be interrupted. If
/// `between` throws, the thread is abandoned, and owns its memory.
std::optional<std::size_t> unpack_beside(const std::shared_ptr<char[]>& packed, std::size_t packed_bytes,
                                         const std::shared_ptr<char[]>& room, std::size_t room_bytes,
                                         const BetweenReads& between) {
  using Unpacking = std::packaged_task<std::optional<std::size_t>()>;
  const auto unpacking = std::make_shared<Unpacking>([=] {
    return unpack_gzip({packed.get(), packed_bytes}, {room.get(), room_bytes});
  });
  auto unpacked = unpacking->get_future();
  try {
    const base::SignalsBlocked blocked;
    std::thread([unpacking] { (*unpacking)(); }).detach();
  } catch (const std::system_error&) {  // no thread available
    (*unpacking)();
  }
  constexpr std::chrono::milliseconds pause(20);
  do {
    if (between) between();
  } while (unpacked.wait_for(pause) != std::future_status::ready);
  return unpacked.get();
}

/// Another thread's position in a file of blocks that a source has open.
class PlaceInGzip final : public ByteSource {
 public:
  PlaceInGzip(const files::InputFile& file, const std::vector<GzipMember>& members,
              std::atomic<std::int64_t>& bytes_read)
      : file_(file), members_(members), bytes_read_(bytes_read), unpacker_(file, members, bytes_read) {}

  std::size_t read(std::span<char> buffer) override { return unpacker_.read(buffer); }
  void seek(std::int64_t offset) override { unpacker_.seek(offset); }
  [[nodiscard]] std::unique_ptr<ByteSource> for_another_thread() override {
    return std::make_unique<PlaceInGzip>(file_, members_, bytes_read_);
  }
  [[nodiscard]] std::int64_t bytes_read() const override { return bytes_read_; }
  [[nodiscard]] const files::InputFile& file() const override { return file_; }

 private:
  const files::InputFile& file_;
  const std::vector<GzipMember>& members_;
  std::atomic<std::int64_t>& bytes_read_;
  GzipMembers unpacker_;
};

class GzipSource final : public StreamedSource {
 public:
  GzipSource(const std::string& path, OpenOptions options)
      : StreamedSource(path, std::move(options),
                       [](const files::InputFile& file, std::atomic<std::int64_t>& bytes_read) {
                         return std::make_unique<GzipUnpacker>(file, bytes_read);
                       }) {}

  [[nodiscard]] std::unique_ptr<ByteSource> for_another_thread() override {
    const std::vector<GzipMember>& members = StreamedSource::find_members();
    return members.empty() ? nullptr : std::make_unique<PlaceInGzip>(file(), members, bytes_read_so_far());
  }
  [[nodiscard]] const std::vector<GzipMember>& find_members() override {
    const std::vector<GzipMember>& members = StreamedSource::find_members();
    if (members.empty()) {
      set_members(members_of(file()));
      if (!members.empty()) tell_growth(members.back().unpacked, file().size());
    }
    return members;
  }
  [[nodiscard]] std::int64_t most_bytes() const override {
    constexpr std::int64_t most_of_packed = 1032;  // maximum bytes that deflate unpacks from one
    return file().size() * most_of_packed;
  }
  [[nodiscard]] std::optional<std::int64_t> unpack_all(const std::shared_ptr<char[]>& room,
                                                       std::size_t room_bytes) override {
    if (room_bytes < size_of_last_member(file())) return std::nullopt;
    if (file().size() <= most_at_once) {
      if (const auto size = unpack_at_once(room, room_bytes)) return size;
    }
    return unpack_in_order({room.get(), room_bytes});
  }

 private:
  // Files with a high ratio are unpacked in order, which reports progress.
  std::optional<std::int64_t> unpack_at_once(const std::shared_ptr<char[]>& room, std::size_t room_bytes) {
    const auto size = static_cast<std::size_t>(file().size());
    const std::shared_ptr<char[]> packed(new (std::nothrow) char[size]);
    if (packed == nullptr) return std::nullopt;
    for (std::size_t at = 0; at < size; at += step_bytes) {
      if (options().between) options().between();
      const std::span<char> step(packed.get() + at, std::min(step_bytes, size - at));
      const std::size_t got = file().read_at(static_cast<std::int64_t>(at), step);
      bytes_read_so_far() += static_cast<std::int64_t>(got);
      if (got < step.size()) return std::nullopt;
    }
    const std::size_t most = std::min(room_bytes, static_cast<std::size_t>(many_times) * size);
    const auto unpacked = unpack_beside(packed, size, room, most, options().between);
    return unpacked ? std::optional(static_cast<std::int64_t>(*unpacked)) : std::nullopt;
  }
};

}  // namespace

std::unique_ptr<PackedSource> open_gzip(const std::string& path, OpenOptions options) {
  return std::make_unique<GzipSource>(path, std::move(options));
}

}  // namespace TESSERA_NAMESPACE::gam
