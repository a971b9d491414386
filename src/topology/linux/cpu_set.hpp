// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <sys/types.h>

#include <bitset>
#include <optional>
#include <string>
#include <string_view>

namespace TESSERA_NAMESPACE::detail {

/// 8192 is Linux's maximum number of CPUs (CONFIG_NR_CPUS on x86 with MAXSMP).
using CpuSet = std::bitset<8192>;

/// The affinity of thread `id`; 0 is the calling thread. Empty set on failure.
[[nodiscard]] CpuSet affinity_of(pid_t id);
[[nodiscard]] bool bind_this_thread(const CpuSet& cpus);

/// The kernel's and hwloc's list format: "0-15,32-47".
[[nodiscard]] std::string list_text(const CpuSet& cpus);
/// The inverse of `list_text`; empty if `list` is malformed.
[[nodiscard]] std::optional<CpuSet> parse_cpu_list(std::string_view list);

}  // namespace TESSERA_NAMESPACE::detail
