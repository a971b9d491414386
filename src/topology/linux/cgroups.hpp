// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <filesystem>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::detail {

/// The cgroup of this process or an ancestor.
struct Cgroup {
  std::filesystem::path folder;  ///< without the prefix `root` of tests
  int version = 2;
};

/// The cgroups whose limits for `controller` ("cpu", "memory") apply to this process: its cgroup first, then
/// ancestors up to the mount point, for version 1 and then version 2. A version without the controller has no
/// files of limits. Empty if /proc does not list the cgroups, or the process is not below a mount point.
[[nodiscard]] std::vector<Cgroup> cgroups_of_this_process(const std::filesystem::path& root,
                                                          std::string_view controller);

}  // namespace TESSERA_NAMESPACE::detail
