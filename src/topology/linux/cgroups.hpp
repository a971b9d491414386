// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <filesystem>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::detail {

/// A cgroup that this process is in, directly or as one of its children.
struct Cgroup {
  std::filesystem::path folder;  ///< as the process sees it, without the root that it was looked for under
  int version = 2;
};

/// The cgroups whose limits for `controller` ("cpu", "memory") apply to this process: its own first, then its
/// ancestors up to the mount point, for version 1 and then for version 2; the folders of a version without
/// the controller contain no file of it. Empty if /proc does not list them, or if the process is not below a
/// mount point.
[[nodiscard]] std::vector<Cgroup> cgroups_of_this_process(const std::filesystem::path& root,
                                                          std::string_view controller);

}  // namespace TESSERA_NAMESPACE::detail
