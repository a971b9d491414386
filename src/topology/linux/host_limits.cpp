// SPDX-License-Identifier: Apache-2.0
#include <tessera/topology/host_limits.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "topology/linux/cgroups.hpp"
#include "topology/linux/linux_files.hpp"

namespace TESSERA_NAMESPACE {
namespace {

namespace fs = std::filesystem;
using detail::Cgroup;
using detail::first_line;
using detail::number_in;
using detail::number_of;
using detail::take_number;

/// Larger values count as no limit: cgroup version 1 reports a huge number if there is no limit.
constexpr std::int64_t absurd_bytes = std::int64_t{1} << 60;

/// `count` units in bytes, clamped to `absurd_bytes`, so that sums of a few values cannot overflow.
std::int64_t bytes_of(std::optional<std::int64_t> count, std::int64_t unit = 1) {
  return std::clamp<std::int64_t>(count.value_or(0), 0, absurd_bytes / unit) * unit;
}

fs::path under(const fs::path& root, const fs::path& path) {
  return root / path.relative_path();
}

CgroupId id_of(const fs::path& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return {};
  return {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino)};
}

std::optional<CpuQuota> quota_of(const fs::path& root, const Cgroup& cgroup) {
  const fs::path folder = under(root, cgroup.folder);
  std::string text = cgroup.version == 2 ? first_line(folder / "cpu.max")
                                         : first_line(folder / "cpu.cfs_quota_us") + ' ' +
                                               first_line(folder / "cpu.cfs_period_us");
  std::string_view rest = text;
  const auto quota_us = take_number(rest);  // "max" and -1: no quota
  const auto period_us = take_number(rest);
  if (!quota_us || !period_us || *quota_us <= 0 || *period_us <= 0) return std::nullopt;
  const fs::path file = cgroup.folder / (cgroup.version == 2 ? "cpu.max" : "cpu.cfs_quota_us");
  return CpuQuota{static_cast<double>(*quota_us) / static_cast<double>(*period_us), id_of(folder),
                  file.string()};
}

/// Memory of a cgroup that the kernel cannot reclaim.
std::int64_t held_bytes(const fs::path& folder, int version) {
  const char* const usage = version == 2 ? "memory.current" : "memory.usage_in_bytes";
  std::int64_t held = bytes_of(number_in(folder / usage));
  const fs::path details = folder / "memory.stat";
  const std::string total = version == 2 ? "" : "total_";  // includes child cgroups
  for (const char* dropped : {"active_file", "inactive_file", "slab_reclaimable"})
    held -= bytes_of(number_of(details, total + dropped));
  return std::max<std::int64_t>(held, 0);
}

/// Free swap that a cgroup may use in addition to its memory limit.
std::int64_t swap_bytes(const fs::path& folder, int version, std::int64_t limit, std::int64_t free_swap) {
  std::int64_t room = std::numeric_limits<std::int64_t>::max();
  if (version == 2) {
    if (const auto most = number_in(folder / "memory.swap.max"))
      room = bytes_of(most) - bytes_of(number_in(folder / "memory.swap.current"));
  } else if (const auto both = number_in(folder / "memory.memsw.limit_in_bytes")) {
    room = bytes_of(both) - limit;
  }
  return std::clamp<std::int64_t>(room, 0, free_swap);
}

void append_cgroups(std::vector<MemoryLimit>& all, const fs::path& root, std::int64_t free_swap) {
  const auto cgroups = detail::cgroups_of_this_process(root, "memory");
  bool parents_count = true;
  for (std::size_t i = 0; i < cgroups.size(); ++i) {
    const auto& [place, version] = cgroups[i];
    const fs::path folder = under(root, place);
    // In version 1 a cgroup's children may be exempt from its limit.
    if (version == 1 && i > 0 && first_line(folder / "memory.use_hierarchy") == "0") parents_count = false;
    if (version == 1 && !parents_count) continue;
    const auto files =
        version == 2 ? std::vector{"memory.max", "memory.high"} : std::vector{"memory.limit_in_bytes"};
    for (const char* file : files) {
      const auto limit = number_in(folder / file);
      if (!limit || *limit < 0 || *limit >= absurd_bytes) continue;
      const std::int64_t rest =
          *limit - held_bytes(folder, version) + swap_bytes(folder, version, *limit, free_swap);
      all.push_back({MemoryLimit::Scope::cgroup, id_of(folder), *limit, std::max<std::int64_t>(rest, 0),
                     (place / file).string()});
    }
  }
}

void append_ulimits(std::vector<MemoryLimit>& all, const fs::path& root) {
  // Fields of statm, in pages: size, resident, shared, text, library, data.
  std::array<std::int64_t, 6> used{};
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  const std::string line = first_line(root / "proc/self/statm");
  std::string_view rest = line;
  for (std::int64_t& part : used) part = bytes_of(take_number(rest), page);
  const auto append = [&](const char* key, const char* name, std::int64_t taken) {
    const auto limit = number_of(root / "proc/self/limits", key);
    if (!limit || *limit < 0 || *limit >= absurd_bytes) return;
    all.push_back({MemoryLimit::Scope::process, {}, *limit, std::max<std::int64_t>(*limit - taken, 0), name});
  };
  append("Max address space", "ulimit -v", used[0]);
  append("Max data size", "ulimit -d", used[5]);
}

}  // namespace

int CpuQuota::threads() const noexcept {
  return static_cast<int>(std::clamp(std::floor(cores), 1.0, 1e9));
}

const CpuQuota* HostLimits::tightest_cpu() const noexcept {
  const CpuQuota* least = nullptr;
  for (const CpuQuota& quota : cpu)
    if (least == nullptr || quota.cores <= least->cores) least = &quota;
  return least;
}

const MemoryLimit* HostLimits::tightest_memory() const noexcept {
  const MemoryLimit* least = nullptr;
  for (const MemoryLimit& limit : memory)
    if (least == nullptr || limit.free_bytes <= least->free_bytes) least = &limit;
  return least;
}

HostLimits host_limits(const std::string& root_folder) {
  const fs::path root = root_folder;
  HostLimits limits;
  for (const Cgroup& cgroup : detail::cgroups_of_this_process(root, "cpu"))
    if (auto quota = quota_of(root, cgroup)) limits.cpu.push_back(std::move(*quota));

  constexpr std::int64_t kib = 1024;
  const fs::path node = root / "proc/meminfo";
  const auto total = number_of(node, "MemTotal:");
  const std::int64_t free_swap = bytes_of(number_of(node, "SwapFree:"), kib);
  append_ulimits(limits.memory, root);
  append_cgroups(limits.memory, root, free_swap);
  if (total) {
    const std::int64_t available = bytes_of(number_of(node, "MemAvailable:").value_or(*total), kib);
    limits.memory.push_back(
        {MemoryLimit::Scope::node, {}, bytes_of(total, kib), available + free_swap, "/proc/meminfo"});
  }
  return limits;
}

}  // namespace TESSERA_NAMESPACE
