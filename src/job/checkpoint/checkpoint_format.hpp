// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/checkpoint.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace tessera::inline TESSERA_ABI {

/// The number of the last start that a checkpoint may have: far above what there can be, far below what an
/// integer holds.
inline constexpr std::int64_t last_generation = 1'000'000'000'000;

/// What one file of a checkpoint holds.
struct StoredState {
  std::int64_t generation = 0;
  std::string state;
};

/// Why a file is not used.
struct CheckpointRefusal {
  enum class Kind {
    torn,     ///< not as it was written; also a beginning of it
    foreign,  ///< of another fingerprint, or no checkpoint at all
    newer,    ///< of a format that is yet to come
  };
  Kind kind{};
  std::string why;  ///< goes on after the file's name: "is torn"
};

/// Texts whose parts have their lengths before them, after a line with the format and one with a checksum
/// (FNV-1a, 64 bits) over all that follows and the format.
[[nodiscard]] std::string pack_checkpoint(const StoredState& stored, const Fingerprint& fingerprint);

[[nodiscard]] std::variant<StoredState, CheckpointRefusal> unpack_checkpoint(std::string_view bytes,
                                                                             const Fingerprint& expected);

}  // namespace tessera::inline TESSERA_ABI
