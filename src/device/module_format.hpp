// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::inline TESSERA_ABI {

/// What code in a file was made of and for: all that it depends on.
struct ModuleKey {
  std::string capability;  ///< of the devices, as "9.0"
  std::string compiler;    ///< with its version, as "nvrtc 13.0.88"
  std::string tessera;     ///< version of this library, which adds headers and options
  std::string source;      ///< `key_of` the source
};

/// The key as one text, so that no two keys look the same.
[[nodiscard]] std::string to_text(const ModuleKey& key);

/// The name of a key's file: its SHA-256.
[[nodiscard]] std::string module_file_name(std::string_view key);

/// Whether a file in a folder of code is one of a cache: of this version, an older one or a later one.
[[nodiscard]] bool is_module_file_name(std::string_view name);
/// Whether it is one that was not written to its end, or not yet.
[[nodiscard]] bool is_unfinished_module_file_name(std::string_view name);

/// A file's content: a first line that says the format, the SHA-256 of all that follows it, sizes, the key,
/// and the text. The sum finds accidents. It is no seal: who can write the file can write the sum.
[[nodiscard]] std::string pack_module(std::string_view key, std::string_view text);

/// The text of a file that was written whole for `key`.
[[nodiscard]] std::optional<std::string> unpack_module(std::string_view content, std::string_view key);

/// So many bytes of a file tell what it is for, unless a name in its key is very long.
inline constexpr std::size_t module_head_bytes = 4096;
/// What the beginning of a file says of its key. `source` is the name of the source alone.
[[nodiscard]] std::optional<ModuleKey> read_module_head(std::string_view head);

}  // namespace tessera::inline TESSERA_ABI
