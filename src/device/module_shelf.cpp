// SPDX-License-Identifier: Apache-2.0
#include "device/module_shelf.hpp"

#include "base/number.hpp"
#include "device/module_format.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <tuple>

namespace TESSERA_NAMESPACE {
namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;
constexpr std::int64_t default_limit_mib = 256;

/// Age after which a temporary file counts as abandoned: writing takes milliseconds, and the clocks of nodes
/// differ by less than an hour.
constexpr std::time_t longest_write_s = 3600;

std::optional<ShelvedModule> status_of(int folder, const char* name) {
  struct stat status {};
  if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) return std::nullopt;
  return ShelvedModule{name, status.st_size, status.st_mtim, is_unfinished_module_file_name(name)};
}

/// Sort key: time of last use, then name.
auto order_of(const ShelvedModule& module) {
  return std::tie(module.last_use.tv_sec, module.last_use.tv_nsec, module.name);
}

}  // namespace

ModuleShelf::ModuleShelf(const std::filesystem::path& folder)
    : folder_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

std::vector<ShelvedModule> ModuleShelf::list() const {
  std::vector<ShelvedModule> all;
  // A separate descriptor, because readdir moves the file position.
  const int descriptor =
      !folder_.is_open() ? -1 : openat(folder_.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return all;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(fdopendir(descriptor), closedir);
  if (!entries) {
    (void)close(descriptor);
    return all;
  }
  while (const dirent* entry = readdir(entries.get())) {
    if (!is_module_file_name(entry->d_name) && !is_unfinished_module_file_name(entry->d_name)) continue;
    if (auto module = status_of(folder_.number(), entry->d_name)) all.push_back(std::move(*module));
  }
  std::ranges::sort(all, [](const auto& a, const auto& b) { return order_of(b) < order_of(a); });
  return all;
}

bool ModuleShelf::remove(const ShelvedModule& module) const {
  // Checks the content as well as the name, because users may choose a folder with other files.
  const base::Descriptor file(
      openat(folder_.number(), module.name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open()) return false;
  const auto first_bytes = file.read_text(module_magic_bytes);
  if (!first_bytes || !is_module_file(module.name, *first_bytes)) return false;
  const auto now = status_of(folder_.number(), module.name.c_str());
  return now && order_of(*now) == order_of(module) && unlinkat(folder_.number(), module.name.c_str(), 0) == 0;
}

void ModuleShelf::bound(std::int64_t max_bytes, std::string_view just_written) const {
  std::vector<ShelvedModule> all = list();
  const std::time_t now = std::time(nullptr);
  std::erase_if(all, [&](const ShelvedModule& module) {
    return module.unfinished && module.last_use.tv_sec < now - longest_write_s && remove(module);
  });
  std::int64_t bytes = 0;
  for (const ShelvedModule& module : all) bytes += module.bytes;
  for (auto oldest = all.rbegin(); oldest != all.rend() && bytes > max_bytes; ++oldest) {
    if (oldest->unfinished || oldest->name == just_written) continue;
    // Concurrent evictions choose the same files: a missing file counts as removed.
    (void)remove(*oldest);
    bytes -= oldest->bytes;
  }
}

std::int64_t module_cache_limit() {
  const char* const text = std::getenv("TESSERA_CACHE_MIB");
  const auto given = base::parse_number<std::int64_t>(text != nullptr ? text : "");
  const bool fits = given && *given >= 0 && *given <= INT64_MAX / mib;
  return (fits ? *given : default_limit_mib) * mib;
}

}  // namespace TESSERA_NAMESPACE
