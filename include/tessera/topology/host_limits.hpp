// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE {

/// A cgroup's identity: the same in every process of a node, unlike its path.
struct CgroupId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  friend auto operator<=>(const CgroupId&, const CgroupId&) = default;
};

/// A CPU quota, shared by all processes of a cgroup.
struct TESSERA_EXPORT CpuQuota {
  double cores = 0;  ///< CPU time per wall time, e.g. 1.5
  CgroupId group;
  std::string source;  ///< the file that sets the quota

  /// Number of threads that can run under the quota, at least 1. Rounded down, because the kernel would
  /// throttle all threads if there were one more.
  [[nodiscard]] int threads() const noexcept;
};

/// A limit of host memory, and the part of it that is free.
struct MemoryLimit {
  /// Who shares the limit.
  enum class Scope { process, cgroup, node };

  Scope scope = Scope::node;
  CgroupId group;                ///< the cgroup, if the scope is one
  std::int64_t limit_bytes = 0;  ///< total for all processes that share the limit
  /// Bytes left; an upper bound: reclaimable file pages count as free, and free swap is added.
  std::int64_t free_bytes = 0;
  std::string source;  ///< the file that sets the limit, or "ulimit -v", "ulimit -d"
};

/// The CPU quotas and memory limits of this process. `HostInfo` has its cores.
///
///     const auto limits = tessera::host_limits();
///     if (const auto* quota = limits.tightest_cpu()) std::cout << quota->threads() << ' ' << quota->source;
///
/// Lists every limit of the process's own cgroup (version 1, 2, or both) and of its ancestors up to the
/// visible root, because the cgroup that sets a limit determines who shares it. `ulimit` and the node's
/// memory also limit memory. A limit that cannot be read, for example because a namespace hides it, is not
/// listed; the kernel still enforces it.
struct TESSERA_EXPORT HostLimits {
  std::vector<CpuQuota> cpu;        ///< empty: unlimited
  std::vector<MemoryLimit> memory;  ///< empty only if the kernel reports nothing

  /// The smallest quota; null without quotas. Ties: the outermost, which most processes share.
  [[nodiscard]] const CpuQuota* tightest_cpu() const noexcept;
  /// The limit with the fewest bytes left; null without limits.
  [[nodiscard]] const MemoryLimit* tightest_memory() const noexcept;
};

/// Reads the limits of the calling process. `root` is the folder that contains /proc and the cgroups. Invalid
/// contents of these files cause no exception. Not collective. Thread-safe. Cost: reading some tens of small
/// kernel files, below a millisecond.
[[nodiscard]] TESSERA_EXPORT HostLimits host_limits(const std::string& root = "/");

}  // namespace TESSERA_NAMESPACE
