// SPDX-License-Identifier: Apache-2.0
#include "overwrite.hpp"

#include "common/text.hpp"

#include <tessera/gam/model.hpp>

#include <dirent.h>
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

namespace fs = std::filesystem;

/// The absolute path; symbolic links are resolved as far as the path exists.
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

bool is_within(const std::string& path, const std::string& folder) {
  std::error_code absent;
  return !path.empty() && fs::is_directory(folder, absent) &&
         spelt_out(path).native().starts_with(spelt_out(folder).native() + '/');
}

/// Resolves symbolic links in the folder's path, but not the file itself.
fs::path own_name_of(const std::string& path) {
  const fs::path given = path;
  return spelt_out(given.has_parent_path() ? given.parent_path().string() : ".") / given.filename();
}

bool is_checkpoint_suffix(std::string_view text) {
  const auto begins_with_number_after = [&](std::string_view word) {
    return text.starts_with(word) && text.size() > word.size() && text[word.size()] >= '0' &&
           text[word.size()] <= '9';
  };
  return text == ".previous" || begins_with_number_after(".generation-") ||
         begins_with_number_after(".batch-");
}

/// The names of a file's companions (such as a model's covariance): the file's name with a suffix.
class CompanionNames {
 public:
  CompanionNames(fs::path file, bool (*is_suffix)(std::string_view))
      : file_(std::move(file)), is_suffix_(is_suffix) {
    // Existing companions may have more names (hard links), which `may_be` finds.
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(file_.parent_path().c_str()), &::closedir);
    const std::string start = file_.filename().string();
    while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
      if (!std::string_view(entry->d_name).starts_with(start)) continue;
      const fs::path path = file_.parent_path() / entry->d_name;
      if (has(path)) there_.push_back(path.string());
    }
  }

  [[nodiscard]] bool may_be(const std::string& path) const {
    // The checkpoint itself is no companion, although it may be a hard link to its previous state.
    if (own_name_of(path) == file_) return false;
    return has(spelt_out(path)) || has(own_name_of(path)) ||
           std::ranges::any_of(there_, [&](const std::string& one) { return same_file(one, path); });
  }

 private:
  [[nodiscard]] bool has(const fs::path& path) const {
    const std::string& start = file_.native();
    return path.native().starts_with(start) &&
           is_suffix_(std::string_view(path.native()).substr(start.size()));
  }

  fs::path file_;
  bool (*is_suffix_)(std::string_view);
  std::vector<std::string> there_;
};

}  // namespace

void refuse_to_overwrite(std::initializer_list<WrittenFile> written, const std::vector<std::string>& read,
                         const CompanionFiles& beside) {
  const auto refuse_companion = [&](const CompanionNames& names, const std::string& whose) {
    const auto check = [&](const std::string& option, const std::string& path) {
      if (!path.empty() && names.may_be(path))
        throw apps::usage_error("{}{} has a name that is reserved for {}: give another file name", option,
                                path, whose);
    };
    for (const WrittenFile& file : written) check(file.option + ' ', file.path);
    for (const std::string& path : read) check("", path);
  };
  if (!beside.model.empty())
    refuse_companion({spelt_out(beside.model), is_covariance_suffix}, "the covariance of " + beside.model);
  if (!beside.checkpoint.empty())
    refuse_companion({own_name_of(beside.checkpoint), is_checkpoint_suffix},
                     "a file of --checkpoint " + beside.checkpoint);
  for (const auto* file = written.begin(); file != written.end(); ++file) {
    const auto refuse = [&](const std::string& other) {
      throw apps::usage_error("{} {} is also {}: give another file name", file->option, file->path, other);
    };
    for (const std::string& path : read) {
      if (same_file(file->path, path)) refuse("an input");
      if (is_within(file->path, path))
        throw apps::usage_error(
            "{} {} is in the folder of the table and would be read as part of the table: give a file in "
            "another folder",
            file->option, file->path);
    }
    for (const auto* before = written.begin(); before != file; ++before) {
      if (same_file(file->path, before->path)) refuse("the file of " + before->option);
    }
  }
}

}  // namespace TESSERA_NAMESPACE::gam
