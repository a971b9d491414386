// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/byte_source.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Unpacks a file from its beginning.
class Unpacker {
 public:
  Unpacker() = default;
  virtual ~Unpacker() = default;
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  /// Fills the buffer; less than its size only at the end. Throws `Error(input)` for damaged or truncated
  /// data, with the offset in the file.
  virtual std::size_t read(std::span<char> buffer) = 0;
  /// Goes back to the first byte of the file.
  virtual void restart() = 0;
  /// Bytes unpacked so far.
  [[nodiscard]] virtual std::int64_t position() const noexcept = 0;
  /// The bytes of the file from which they came.
  [[nodiscard]] virtual std::int64_t packed_position() const noexcept = 0;
};

/// A packed file that is unpacked in order. A file that unpacks to more than 100 times its bytes, and to 256
/// MiB, is reported, and again each time its text quadruples: it may be a table of constants, or made to
/// exhaust memory and disks.
class StreamedSource : public PackedSource {
 public:
  /// Makes the unpacker of an open file; the bytes that it reads are added to `bytes_read`. Both outlive it.
  using MakeUnpacker = std::function<std::unique_ptr<Unpacker>(const files::InputFile& file,
                                                               std::atomic<std::int64_t>& bytes_read)>;
  /// Throws `Error(input)` if the file cannot be opened or is not a regular file.
  StreamedSource(const std::string& path, OpenOptions options, const MakeUnpacker& make);

  std::size_t read(std::span<char> buffer) override;
  void seek(std::int64_t offset) override;
  [[nodiscard]] std::unique_ptr<ByteSource> for_another_thread() override { return nullptr; }
  [[nodiscard]] std::int64_t bytes_read() const override { return bytes_read_; }
  [[nodiscard]] const files::InputFile& file() const override { return file_; }
  [[nodiscard]] const std::vector<GzipMember>& find_members() override { return members_; }
  void set_members(std::vector<GzipMember> members) override { members_ = std::move(members); }
  [[nodiscard]] std::optional<std::int64_t> unpack_all(const std::shared_ptr<char[]>& room,
                                                       std::size_t room_bytes) override {
    return unpack_in_order({room.get(), room_bytes});
  }

 protected:
  /// Bytes read between two calls of `between`.
  static constexpr std::size_t step_bytes = std::size_t{4} << 20;
  /// Text is usually packed to a third or a tenth: files above this are reported.
  static constexpr std::int64_t many_times = 100;

  [[nodiscard]] const OpenOptions& options() const noexcept { return options_; }
  [[nodiscard]] std::atomic<std::int64_t>& bytes_read_so_far() noexcept { return bytes_read_; }
  void tell_growth(std::int64_t unpacked, std::int64_t packed);
  /// Unpacks as a stream, which locates damage; nothing if the room is too small.
  std::optional<std::int64_t> unpack_in_order(std::span<char> room);

 private:
  [[nodiscard]] bool may_have_room(std::size_t room_bytes) const;

  static constexpr std::int64_t least_to_tell = std::int64_t{256} << 20;
  files::InputFile file_;
  OpenOptions options_;
  std::int64_t next_told_ = least_to_tell;
  std::vector<GzipMember> members_;
  std::atomic<std::int64_t> bytes_read_ = 0;
  std::unique_ptr<Unpacker> unpacker_;
};

}  // namespace TESSERA_NAMESPACE::gam
