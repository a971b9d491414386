// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tessera::inline TESSERA_ABI {

/// A cgroup as the kernel knows it: the same in every process of a node, whatever path leads to it there.
struct CgroupId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  friend auto operator<=>(const CgroupId&, const CgroupId&) = default;
};

/// Core time that all processes in a cgroup may use together.
struct TESSERA_EXPORT CpuQuota {
  double cores = 0;  ///< cores' worth of time, e.g. 1.5
  CgroupId group;
  std::string source;  ///< the file that says so

  /// Threads that it keeps busy: rounded down, since one more would have them all wait for the next period,
  /// but at least 1.
  [[nodiscard]] int threads() const noexcept;
};

/// Memory that may be used, and who says so.
struct MemoryLimit {
  /// Who uses it together.
  enum class Scope { process, cgroup, node };

  Scope scope = Scope::node;
  CgroupId group;                ///< where the scope is a cgroup
  std::int64_t limit_bytes = 0;  ///< for all of them
  /// What is left of it: file pages that the kernel would drop count as free, and free swap is added, so
  /// that it is rather too much than too little.
  std::int64_t free_bytes = 0;
  std::string source;  ///< the file that says so, or "ulimit -v", "ulimit -d"
};

/// What this process may use of its machine beside the cores that it may run on (`HostInfo`).
///
///     const auto limits = tessera::host_limits();
///     if (const auto* quota = limits.tightest_cpu()) std::cout << quota->threads() << ' ' << quota->source;
///
/// In cgroups of version 1, 2, or both, every limit from the process's own cgroup up to the root that it can
/// see is listed: who shares a limit depends on where it is set. Memory is also limited by `ulimit`, and by
/// what the node has. A limit that cannot be found or read is none: a namespace hides it, and the kernel
/// upholds it all the same.
struct TESSERA_EXPORT HostLimits {
  std::vector<CpuQuota> cpu;        ///< empty: as much as the cores give
  std::vector<MemoryLimit> memory;  ///< empty only where the kernel tells nothing

  /// The least of them for a process that is alone in its cgroups; the outermost of equal ones, as most share
  /// it. Null: there is none.
  [[nodiscard]] const CpuQuota* tightest_cpu() const noexcept;
  /// The one with the least left.
  [[nodiscard]] const MemoryLimit* tightest_memory() const noexcept;
};

/// Reads the limits of the calling process. `root` is where /proc and the cgroups are looked for. Never
/// throws for what it finds there. Not collective. Thread-safe. Cost: some tens of small files of the kernel,
/// below a millisecond.
[[nodiscard]] TESSERA_EXPORT HostLimits host_limits(const std::filesystem::path& root = "/");

}  // namespace tessera::inline TESSERA_ABI
