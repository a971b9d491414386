// SPDX-License-Identifier: Apache-2.0
#include "device/module_format.hpp"

#include "base/hash.hpp"
#include "base/pack.hpp"

#include <vector>

namespace TESSERA_NAMESPACE {
namespace {

/// The first line of every file, with the version of the format.
constexpr std::string_view format = "tessera module 4\n";
constexpr std::string_view magic = format.substr(0, module_magic_bytes);
static_assert(magic == "tessera module ");
constexpr std::string_view extension = ".module";
constexpr std::size_t digest_digits = 16;

/// FNV-1a, which suffices for accidental corruption. Collisions are harmless, because a file contains its
/// key.
std::string digest_of(std::string_view text) {
  return base::hex(base::fnv1a(text));
}

/// The content after the lines with format and digest; empty if the format is wrong. Does not check the
/// digest.
std::optional<std::string_view> body_of(std::string_view content) {
  constexpr std::size_t begin = format.size() + digest_digits + 1;
  if (!content.starts_with(format) || content.size() < begin) return std::nullopt;
  return content.substr(begin);
}

/// The length of the hash and extension at the beginning of a file name; 0 if the name does not begin with
/// both.
std::size_t end_of_extension(std::string_view name) {
  const std::size_t digits = name.find_first_not_of("0123456789abcdef");
  if (digits == 0 || digits == std::string_view::npos || !name.substr(digits).starts_with(extension))
    return 0;
  return digits + extension.size();
}

/// Joins texts so that different lists give different results.
std::string joined(const std::vector<std::string_view>& texts) {
  std::string all;
  for (const std::string_view text : texts) base::pack(all, text, base::tight);
  return all;
}

}  // namespace

std::string key_of(const ModuleSource& source) {
  const std::string header_count = std::to_string(source.headers.size());
  std::vector<std::string_view> texts{source.name, source.text, header_count};
  for (const NamedHeader& header : source.headers) {
    texts.push_back(header.name);
    texts.push_back(header.text);
  }
  texts.insert(texts.end(), source.options.begin(), source.options.end());
  return joined(texts);
}

std::string to_text(const ModuleKey& key) {
  return joined({key.capability, key.compiler, key.tessera}) + key.source;
}

std::string module_file_name(std::string_view key) {
  return digest_of(key) + std::string(extension);
}

bool is_module_file_name(std::string_view name) {
  return end_of_extension(name) == name.size() && !name.empty();
}

bool is_unfinished_module_file_name(std::string_view name) {
  // `write_and_rename` appends a dot and six characters.
  const std::size_t end = end_of_extension(name);
  return end != 0 && name.size() == end + 7 && name[end] == '.';
}

bool is_module_file(std::string_view name, std::string_view first_bytes) {
  if (first_bytes.starts_with(magic)) return true;
  return magic.starts_with(first_bytes) && is_unfinished_module_file_name(name) &&
         end_of_extension(name) == digest_digits + extension.size();
}

std::string pack_module(std::string_view key, std::string_view text) {
  std::string body = std::to_string(key.size()) + ' ' + std::to_string(text.size()) + '\n';
  body.reserve(body.size() + key.size() + text.size());
  body += key;
  body += text;
  return std::string(format) + digest_of(body) + '\n' + body;
}

std::optional<std::string> unpack_module(std::string_view content, std::string_view key) {
  // Checks sizes, key and digest by packing the text again: the result must equal the file.
  auto rest = body_of(content);
  if (!rest || !base::unpack_number(*rest, ' ')) return std::nullopt;
  const auto size = base::unpack_number(*rest, '\n');
  if (!size || *size > rest->size()) return std::nullopt;
  const std::string_view text = rest->substr(rest->size() - *size);
  if (pack_module(key, text) != content) return std::nullopt;
  return std::string(text);
}

}  // namespace TESSERA_NAMESPACE
