// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <filesystem>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::detail {

/// A cgroup of this process: its own, or an ancestor.
struct Cgroup {
  std::filesystem::path folder;  ///< path as this process sees it, without the prefix `root` of tests
  int version = 2;
};

/// The cgroups whose limits for `controller` ("cpu", "memory") apply to this process: its own first, then its
/// ancestors up to the mount point, for version 1 and then for version 2. The folder of a version without the
/// controller contains no limits. Empty if /proc does not list the cgroups, or if the process is not below a
/// mount point.
[[nodiscard]] std::vector<Cgroup> cgroups_of_this_process(const std::filesystem::path& root,
                                                          std::string_view controller);

}  // namespace TESSERA_NAMESPACE::detail
