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

  /// Number of threads that can run under the quota: rounded down, because one thread more would let the
  /// kernel throttle all of them; at least 1.
  [[nodiscard]] int threads() const noexcept;
};

/// A limit of host memory.
struct MemoryLimit {
  /// Who shares the limit.
  enum class Scope { process, cgroup, node };

  Scope scope = Scope::node;
  CgroupId group;                ///< the cgroup, if the scope is one
  std::int64_t limit_bytes = 0;  ///< limit for all processes that share it together
  /// Bytes left; an upper bound: reclaimable file pages count as free, and free swap is added.
  std::int64_t free_bytes = 0;
  std::string source;  ///< the file that sets the limit, or "ulimit -v", "ulimit -d"
};

/// The CPU quotas and memory limits of this process; for its cores see `HostInfo`.
///
///     const auto limits = tessera::host_limits();
///     if (const auto* quota = limits.tightest_cpu()) std::cout << quota->threads() << ' ' << quota->source;
///
/// Lists every limit in cgroups of version 1, 2, or both, from the process's own cgroup up to the visible
/// root, because the cgroup that sets a limit determines who shares it. Memory is also limited by `ulimit`,
/// and by the node's memory. A limit that cannot be read, because a namespace hides it, say, is left out; the
/// kernel still enforces it.
struct TESSERA_EXPORT HostLimits {
  std::vector<CpuQuota> cpu;        ///< empty: unlimited
  std::vector<MemoryLimit> memory;  ///< empty only if the kernel reports nothing

  /// The smallest quota; ties: the outermost, which most processes share. Null: there is none.
  [[nodiscard]] const CpuQuota* tightest_cpu() const noexcept;
  /// The limit with the fewest bytes left. Null: there is none.
  [[nodiscard]] const MemoryLimit* tightest_memory() const noexcept;
};

/// Reads the limits of the calling process. `root` is the folder that contains /proc and the cgroups. Does
/// not throw for their contents. Not collective. Thread-safe. Cost: reading some tens of small kernel files,
/// below a millisecond.
[[nodiscard]] TESSERA_EXPORT HostLimits host_limits(const std::string& root = "/");

}  // namespace TESSERA_NAMESPACE
