// SPDX-License-Identifier: Apache-2.0
#include "gam/data/gzip/gzip_source.hpp"

#include "base/signals_blocked.hpp"
#include "gam/data/gzip/gzip_members.hpp"
#include "gam/data/gzip/gzip_unpacker.hpp"

#include <fmt/format.h>

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
/// Bytes read between two calls of `between`.
constexpr std::size_t step_bytes = std::size_t{4} << 20;
/// Unpacked bytes from which on the ratio of the whole file can be estimated.
constexpr std::int64_t least_to_judge_by = std::int64_t{64} << 20;
/// Text is usually packed to a third or a tenth. A file that unpacks to more than this many times its bytes
/// is reported, from this many unpacked bytes on.
constexpr std::int64_t many_times = 100;
constexpr std::int64_t least_to_tell = std::int64_t{256} << 20;

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

class GzipSource final : public PackedSource {
 public:
  GzipSource(const std::string& path, OpenOptions options) : file_(path), options_(std::move(options)) {}

  std::size_t read(std::span<char> buffer) override {
    if (options_.between) options_.between();
    const std::size_t got = unpacker_.read(buffer);
    tell_growth(unpacker_.position(), unpacker_.packed_position());
    return got;
  }
  void seek(std::int64_t offset) override {
    if (offset < unpacker_.position()) unpacker_.restart();
    // Skipped bytes must be unpacked as well.
    std::vector<char> passed(std::min(step_bytes, static_cast<std::size_t>(offset - unpacker_.position())));
    while (unpacker_.position() < offset) {
      const auto left = static_cast<std::size_t>(offset - unpacker_.position());
      if (read(std::span(passed).first(std::min(passed.size(), left))) == 0) return;
    }
  }
  [[nodiscard]] std::unique_ptr<ByteSource> for_another_thread() override {
    return members_.empty() ? nullptr : std::make_unique<PlaceInGzip>(file_, members_, bytes_read_);
  }
  [[nodiscard]] std::int64_t bytes_read() const override { return bytes_read_; }
  [[nodiscard]] const files::InputFile& file() const override { return file_; }

  [[nodiscard]] const std::vector<GzipMember>& find_members() override {
    if (members_.empty()) {
      members_ = members_of(file_);
      if (!members_.empty()) tell_growth(members_.back().unpacked, file_.size());
    }
    return members_;
  }
  void set_members(std::vector<GzipMember> members) override { members_ = std::move(members); }
  [[nodiscard]] std::optional<std::int64_t> unpack_all(const std::shared_ptr<char[]>& room,
                                                       std::size_t room_bytes) override {
    if (room_bytes < size_of_last_member(file_)) return std::nullopt;
    if (file_.size() <= most_at_once) {
      if (const auto size = unpack_at_once(room, room_bytes)) return size;
    }
    return unpack_in_order({room.get(), room_bytes});
  }

 private:
  // Files with a high ratio are unpacked in order, which reports progress.
  std::optional<std::int64_t> unpack_at_once(const std::shared_ptr<char[]>& room, std::size_t room_bytes) {
    const auto size = static_cast<std::size_t>(file_.size());
    const std::shared_ptr<char[]> packed(new (std::nothrow) char[size]);
    if (packed == nullptr) return std::nullopt;
    for (std::size_t at = 0; at < size; at += step_bytes) {
      if (options_.between) options_.between();
      const std::span<char> step(packed.get() + at, std::min(step_bytes, size - at));
      const std::size_t got = file_.read_at(static_cast<std::int64_t>(at), step);
      bytes_read_ += static_cast<std::int64_t>(got);
      if (got < step.size()) return std::nullopt;
    }
    const std::size_t most = std::min(room_bytes, static_cast<std::size_t>(many_times) * size);
    const auto unpacked = unpack_beside(packed, size, room, most, options_.between);
    return unpacked ? std::optional(static_cast<std::int64_t>(*unpacked)) : std::nullopt;
  }

  // Unpacks as a stream, which locates damage.
  std::optional<std::int64_t> unpack_in_order(std::span<char> room) {
    seek(0);
    for (std::size_t unpacked = 0; unpacked < room.size() && may_have_room(room.size());) {
      const std::span<char> step = room.subspan(unpacked, std::min(step_bytes, room.size() - unpacked));
      const std::size_t got = read(step);
      unpacked += got;
      if (got < step.size()) return static_cast<std::int64_t>(unpacked);
    }
    return std::nullopt;
  }

  // Avoids unpacking much of a file that will probably not fit.
  [[nodiscard]] bool may_have_room(std::size_t room_bytes) const {
    if (unpacker_.position() < least_to_judge_by) return true;
    const auto of_each =
        static_cast<double>(unpacker_.position()) / static_cast<double>(unpacker_.packed_position());
    return of_each * static_cast<double>(file_.size()) <= static_cast<double>(room_bytes);
  }

  void tell_growth(std::int64_t unpacked, std::int64_t packed) {
    if (unpacked < next_told_) return;
    constexpr std::int64_t factor = 4;
    while (next_told_ <= unpacked) next_told_ *= factor;
    if (!options_.tell || unpacked / many_times < packed) return;
    const double times = static_cast<double>(unpacked) / static_cast<double>(packed);
    constexpr double gib = 1 << 30;
    options_.tell(fmt::format(
        "{}: unpacks to {:.0f} times its bytes: {:.3g} GiB so far, about {:.2g} GiB in all", file_.path(),
        times, static_cast<double>(unpacked) / gib, times * static_cast<double>(file_.size()) / gib));
  }

  files::InputFile file_;
  OpenOptions options_;
  std::int64_t next_told_ = least_to_tell;
  std::vector<GzipMember> members_;
  std::atomic<std::int64_t> bytes_read_ = 0;
  GzipUnpacker unpacker_{file_, bytes_read_};
};

}  // namespace

std::unique_ptr<PackedSource> open_gzip(const std::string& path, OpenOptions options) {
  return std::make_unique<GzipSource>(path, std::move(options));
}

}  // namespace TESSERA_NAMESPACE::gam
