// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <filesystem>
#include <string_view>
#include <vector>

namespace tessera::inline TESSERA_ABI::detail {

/// A cgroup that this process is in, directly or as one of its children.
struct Cgroup {
  std::filesystem::path folder;  ///< as the process sees it, without the root that it was looked for under
  int version = 2;
};

/// The cgroups that hold this process to what `controller` ("cpu", "memory") is told: its own first, then up
/// to the one that is mounted, for version 1 and then for version 2; where one of the two does not have the
/// controller, its folders have no file of it. Empty where /proc does not tell, or where the process is not
/// below what is mounted.
[[nodiscard]] std::vector<Cgroup> cgroups_of_this_process(const std::filesystem::path& root,
                                                          std::string_view controller);

}  // namespace tessera::inline TESSERA_ABI::detail
