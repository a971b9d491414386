// SPDX-License-Identifier: Apache-2.0
#include "output.hpp"

#include <fmt/core.h>

#include <filesystem>
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

}  // namespace tessera::fit
