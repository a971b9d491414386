// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/checkpoint.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace TESSERA_NAMESPACE {

/// The highest valid generation number: never reached in practice, and far from overflow.
inline constexpr std::int64_t last_generation = 1'000'000'000'000;

/// The content of a state file.
struct StoredState {
  std::int64_t generation = 0;
  std::string state;
};

/// Why a file is refused.
struct CheckpointRefusal {
  enum class Kind {
    torn,     ///< corrupt or truncated
    foreign,  ///< has another fingerprint or is no checkpoint
    newer,    ///< has a newer format
  };
  Kind kind{};
  std::string why;  ///< follows the file's name: "is damaged or incomplete"
};

/// Format: a line with the version, a line with a checksum (64-bit FNV-1a) of all other bytes, then
/// length-prefixed texts.
[[nodiscard]] std::string pack_checkpoint(const StoredState& stored, const Fingerprint& fingerprint);

/// The beginning of every state file, in any version.
inline constexpr std::string_view checkpoint_magic = "tessera checkpoint ";

[[nodiscard]] std::variant<StoredState, CheckpointRefusal> unpack_checkpoint(std::string_view bytes,
                                                                             const Fingerprint& expected);

}  // namespace TESSERA_NAMESPACE
