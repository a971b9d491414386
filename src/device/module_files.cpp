// SPDX-License-Identifier: Apache-2.0
#include "device/module_files.hpp"

#include "device/module_key.hpp"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

namespace tessera {
namespace {

/// The first line of every file: what a later version cannot read it must not take for its own.
constexpr std::string_view format = "tessera module 2\n";

std::string hex(std::uint64_t value) {
  std::string text(16, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, value >>= 4)
    *digit = "0123456789abcdef"[value & 15];
  return text;
}

/// Sizes and checksum, in lines of their own; then the key, then the text.
std::string packed(std::string_view key, std::string_view text) {
  std::string all(format);
  all += std::to_string(key.size()) + '\n' + std::to_string(text.size()) + '\n' +
         hex(fnv1a(text, fnv1a(key))) + '\n';
  all += key;
  all += text;
  return all;
}

/// The text of a file that was written whole for `key`.
std::optional<std::string> unpacked(std::string_view all, std::string_view key) {
  if (!all.starts_with(format)) return std::nullopt;
  // The text's size is the third line's; all the rest follows from it.
  const auto size_begin = all.find('\n', format.size());
  const auto size_end = all.find('\n', size_begin == std::string_view::npos ? size_begin : size_begin + 1);
  if (size_end == std::string_view::npos) return std::nullopt;
  std::size_t size = 0;
  const auto [end, failed] = std::from_chars(all.data() + size_begin + 1, all.data() + size_end, size);
  if (failed != std::errc{} || size > all.size()) return std::nullopt;
  const std::string_view text = all.substr(all.size() - size);
  if (packed(key, text) != all) return std::nullopt;
  return std::string(text);
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Writes `text` to a new file beside `path`, by a name that nobody else has, and renames it. Returns what
/// went wrong.
std::string write_and_rename(const std::filesystem::path& path, std::string_view text) {
  std::string name = path.string() + ".XXXXXX";
  const int file = mkstemp(name.data());
  if (file < 0) return std::strerror(errno);
  std::string problem;
  if (!write_all(file, text)) problem = std::strerror(errno);
  // A full disk may be told only now.
  if (close(file) != 0 && problem.empty()) problem = std::strerror(errno);
  if (problem.empty() && std::rename(name.c_str(), path.c_str()) != 0) problem = std::strerror(errno);
  if (!problem.empty()) (void)unlink(name.c_str());
  return problem;
}

}  // namespace

std::filesystem::path ModuleFiles::file_of(std::string_view key) const {
  return directory_ / (hex(fnv1a(key)) + ".module");
}

ModuleFiles::Found ModuleFiles::read(std::string_view key) const {
  if (directory_.empty()) return {};
  std::ifstream file(file_of(key), std::ios::binary);
  if (!file) return {};
  const std::string all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  auto text = unpacked(all, key);
  const bool rejected = !text;
  return {std::move(text), rejected};
}

void ModuleFiles::write(std::string_view key, std::string_view text) {
  if (directory_.empty()) return;
  std::error_code failed;
  std::filesystem::create_directories(directory_, failed);
  const std::string reason = failed ? failed.message() : write_and_rename(file_of(key), packed(key, text));
  const std::lock_guard lock(mutex_);
  problem_ = reason.empty() ? reason : directory_.string() + " cannot be written: " + reason;
}

std::string ModuleFiles::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

}  // namespace tessera
