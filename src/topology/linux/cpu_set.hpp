// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <sys/types.h>

#include <bitset>
#include <optional>
#include <string>
#include <string_view>

namespace TESSERA_NAMESPACE::detail {

/// A set of CPU numbers. Linux supports no more CPUs (CONFIG_NR_CPUS of x86 with MAXSMP).
using CpuSet = std::bitset<8192>;

/// The CPUs that thread `id` may use; 0 is the calling thread. None on failure.
[[nodiscard]] CpuSet affinity_of(pid_t id);
/// Binds the calling thread; returns whether the kernel did.
[[nodiscard]] bool bind_this_thread(const CpuSet& cpus);

/// A list as the kernel and hwloc write it: "0-15,32-47".
[[nodiscard]] std::string list_text(const CpuSet& cpus);
/// The CPUs in such a list; empty if the text is not a list.
[[nodiscard]] std::optional<CpuSet> parse_cpu_list(std::string_view list);

}  // namespace TESSERA_NAMESPACE::detail
