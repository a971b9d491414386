// SPDX-License-Identifier: Apache-2.0
#include "gam/model/overwrite.hpp"

#include "gam/model/model.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <system_error>
#include <tessera/error.hpp>

namespace tessera::gam {
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

/// True for the name of a covariance of `model`, of any content.
bool may_be_covariance(const std::string& path, const std::string& model) {
  if (path.empty() || model.empty()) return false;
  const std::string whole = spelt_out(path).string();
  const std::string start = spelt_out(model).string();
  return whole.starts_with(start) && is_covariance_suffix(std::string_view(whole).substr(start.size()));
}

}  // namespace

void refuse_to_overwrite(std::initializer_list<WrittenFile> written, std::initializer_list<std::string> read,
                         const std::string& model) {
  const auto refuse_covariance = [&](const std::string& option, const std::string& path) {
    if (may_be_covariance(path, model))
      throw Error(ErrorCode::usage, fmt::format("{}{} has a name that the covariance of {} may have: give it "
                                                "another name",
                                                option, path, model));
  };
  for (const WrittenFile& file : written) refuse_covariance(file.option + ' ', file.path);
  for (const std::string& path : read) refuse_covariance("", path);
  for (const auto* file = written.begin(); file != written.end(); ++file) {
    const auto refuse = [&](const std::string& other) {
      throw Error(ErrorCode::usage,
                  fmt::format("{} {} is a file {}: give it another name", file->option, file->path, other));
    };
    for (const std::string& path : read) {
      if (same_file(file->path, path)) refuse("that is read");
    }
    for (const auto* before = written.begin(); before != file; ++before) {
      // The files of one option are its own affair: a checkpoint links its own to each other.
      if (before->option != file->option && same_file(file->path, before->path))
        refuse(fmt::format("of {} too", before->option));
    }
  }
}

}  // namespace tessera::gam
