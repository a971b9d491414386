// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

namespace tessera::gam {

/// Unpacks deflate data that are in memory as a whole: by libdeflate, which takes half the time of zlib and
/// knows no streams, or in a build without it by zlib. For one thread at a time.
///
/// Data that are damaged or cut short, or that there is no room for, are not unpacked, and it is not said
/// why.
class Inflater {
 public:
  /// Throws std::bad_alloc.
  Inflater();
  Inflater(Inflater&& other) noexcept;
  Inflater& operator=(Inflater&& other) noexcept;
  ~Inflater();

  struct Amounts {
    std::size_t packed = 0;
    std::size_t unpacked = 0;
  };
  /// A gzip member (RFC 1952), with which `packed` begins: the bytes that it has.
  [[nodiscard]] std::optional<Amounts> gzip_member(std::span<const char> packed, std::span<char> room);
  /// Zlib data (RFC 1950): the bytes that are unpacked.
  [[nodiscard]] std::optional<std::size_t> zlib(std::span<const char> packed, std::span<char> room);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::gam
