// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

namespace TESSERA_NAMESPACE::gam {

/// Unpacks deflate data held in memory as a whole: by libdeflate, which takes half the time of zlib but has
/// no streaming, or by zlib in a build without it. Not thread-safe.
///
/// Returns nothing, without a reason, for damaged or truncated data, and for data that do not fit.
class Inflater {
 public:
  /// Throws std::bad_alloc.
  Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater();

  struct Amounts {
    std::size_t packed = 0;
    std::size_t unpacked = 0;
  };
  /// Unpacks the gzip member (RFC 1952) at the beginning of `packed`; returns its sizes.
  [[nodiscard]] std::optional<Amounts> gzip_member(std::span<const char> packed, std::span<char> room);
  /// Unpacks zlib data (RFC 1950); returns the number of unpacked bytes.
  [[nodiscard]] std::optional<std::size_t> zlib(std::span<const char> packed, std::span<char> room);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace TESSERA_NAMESPACE::gam
