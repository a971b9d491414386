// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/kernel_compiler.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace TESSERA_NAMESPACE {

/// The source's part of a cache key: everything in the source that the compiled code depends on.
[[nodiscard]] std::string key_of(const ModuleSource& source);

/// The cache key of a module: everything that its compiled code depends on.
struct ModuleKey {
  std::string capability;  ///< compute capability of the devices, such as "9.0"
  std::string compiler;    ///< the compiler with its version, such as "nvrtc 13.0.88"
  std::string tessera;     ///< version of this library, which adds headers and options
  std::string source;      ///< `key_of` the source
};

/// The key as one text; different keys have different texts.
[[nodiscard]] std::string to_text(const ModuleKey& key);

[[nodiscard]] std::string module_file_name(std::string_view key);

/// Whether this is the name of a module's file, of any version.
[[nodiscard]] bool is_module_file_name(std::string_view name);
/// Whether this is the name of a temporary file, which is being written or was abandoned.
[[nodiscard]] bool is_unfinished_module_file_name(std::string_view name);

/// Whether a cache of any version wrote the file. Decides by the first `module_magic_bytes` bytes; for a
/// shorter file also by the hash and extension in its name.
[[nodiscard]] bool is_module_file(std::string_view name, std::string_view first_bytes);
/// Number of first bytes that `is_module_file` compares.
inline constexpr std::size_t module_magic_bytes = 15;

/// A file's content: a line with the format, a hash of the rest, sizes, the key, and the text. The hash
/// detects corruption, not forgery.
[[nodiscard]] std::string pack_module(std::string_view key, std::string_view text);

/// The text of a file, if the file is complete and was written for `key`.
[[nodiscard]] std::optional<std::string> unpack_module(std::string_view content, std::string_view key);

}  // namespace TESSERA_NAMESPACE
