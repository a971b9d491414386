// SPDX-License-Identifier: Apache-2.0
#include "topology/linux/cgroups.hpp"

#include "base/text.hpp"
#include "topology/linux/linux_files.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

namespace TESSERA_NAMESPACE::detail {
namespace {

namespace fs = std::filesystem;

bool lists(std::string_view comma_separated, std::string_view word) {
  const std::vector<std::string_view> parts = base::split(comma_separated, ',');
  return std::ranges::find(parts, word) != parts.end();
}

struct Mount {
  int version = 2;
  std::string options;  ///< mount options; in version 1 they include the controllers
  fs::path root;        ///< the cgroup at the mount point
  fs::path point;
};

/// The kernel escapes blanks and some other characters in paths as octal numbers (\040).
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '\\' && text.size() - i > 3 &&
        std::from_chars(digits, digits + 3, byte, 8).ptr == digits + 3) {
      out += static_cast<char>(byte);
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

/// Reads /proc/self/mountinfo: "31 23 0:28 ROOT POINT rw,… [tag:…]… - TYPE SOURCE OPTIONS".
std::vector<Mount> mounts(const fs::path& root) {
  std::vector<Mount> found;
  each_line(text_of_file(root / "proc/self/mountinfo"), [&](std::string_view line) {
    const std::vector<std::string_view> fields = base::split(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-") - fields.begin();
    const auto type = static_cast<std::size_t>(dash) + 1;
    if (dash < 5 || type + 2 >= fields.size() || (fields[type] != "cgroup" && fields[type] != "cgroup2"))
      return false;
    found.push_back({fields[type] == "cgroup" ? 1 : 2, std::string(fields[type + 2]), unescaped(fields[3]),
                     unescaped(fields[4])});
    return false;
  });
  return found;
}

/// The process's cgroup, from a line of /proc/self/cgroup: "4:memory:/job" in version 1, "0::/job" in version
/// 2.
std::optional<fs::path> path_in(const fs::path& root, int version, std::string_view controller) {
  std::optional<fs::path> path;
  each_line(text_of_file(root / "proc/self/cgroup"), [&](std::string_view line) {
    const auto first = line.find(':');
    const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) return false;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (version == 2 ? line.starts_with("0::") : lists(controllers, controller))
      path = line.substr(second + 1);
    return path.has_value();
  });
  return path;
}

/// `path` relative to `mount_root`; empty if it is not below `mount_root`, or outside the namespace
/// ("/../job").
std::optional<fs::path> below(const fs::path& path, const fs::path& mount_root) {
  const fs::path rest = path.lexically_relative(mount_root);
  const bool leads_out =
      std::ranges::find(rest, "..") != rest.end() || std::ranges::find(path, "..") != path.end();
  if (rest.empty() || leads_out) return std::nullopt;
  return rest == "." ? fs::path() : rest;
}

void append(std::vector<Cgroup>& all, const fs::path& root, int version, std::string_view controller) {
  const auto path = path_in(root, version, controller);
  if (!path) return;
  // Of several mounts, uses the one with most of the hierarchy.
  std::optional<fs::path> longest;
  fs::path point;
  for (const Mount& mount : mounts(root)) {
    if (mount.version != version || (version == 1 && !lists(mount.options, controller))) continue;
    const auto rest = below(*path, mount.root);
    if (!rest || (longest && rest->native().size() <= longest->native().size())) continue;
    longest = rest;
    point = mount.point;
  }
  if (!longest) return;
  for (fs::path rest = *longest; !rest.empty(); rest = rest.parent_path())
    all.push_back({point / rest, version});
  all.push_back({point, version});
}

}  // namespace

std::vector<Cgroup> cgroups_of_this_process(const fs::path& root, std::string_view controller) {
  std::vector<Cgroup> all;
  append(all, root, 1, controller);
  append(all, root, 2, controller);
  return all;
}

}  // namespace TESSERA_NAMESPACE::detail
