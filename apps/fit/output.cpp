// SPDX-License-Identifier: Apache-2.0
#include "output.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <tessera/error.hpp>

namespace tessera::fit {
namespace {

namespace fs = std::filesystem;

/// A path in the one spelling that it has from the root on, links followed as far as it exists.
fs::path spelt_out(const std::string& path) {
  std::error_code unreadable;
  const fs::path from_root = fs::absolute(path, unreadable);
  const fs::path spelt = fs::weakly_canonical(from_root, unreadable);
  return unreadable ? from_root.lexically_normal() : spelt;
}

bool same_file(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return false;
  std::error_code absent;
  return fs::equivalent(a, b, absent) || spelt_out(a) == spelt_out(b);
}

}  // namespace

void refuse_to_overwrite(std::initializer_list<WrittenFile> written,
                         std::initializer_list<std::string> read) {
  for (auto file = written.begin(); file != written.end(); ++file) {
    const auto refuse = [&](const std::string& other) {
      throw Error(ErrorCode::usage,
                  fmt::format("{} {} is a file {}: give it another name", file->option, file->path, other));
    };
    for (const std::string& path : read) {
      if (same_file(file->path, path)) refuse("that is read");
    }
    for (auto before = written.begin(); before != file; ++before) {
      // The files of one option are its own affair: a checkpoint links its own to each other.
      if (before->option != file->option && same_file(file->path, before->path))
        refuse(fmt::format("of {} too", before->option));
    }
  }
}

std::string read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  const auto fail = [&] {
    throw Error(ErrorCode::input, fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  };
  if (!file) fail();
  std::string text;
  char buffer[65536];
  std::size_t count = 0;
  while ((count = std::fread(buffer, 1, sizeof buffer, file.get())) > 0) text.append(buffer, count);
  if (std::ferror(file.get()) != 0) fail();
  return text;
}

}  // namespace tessera::fit
