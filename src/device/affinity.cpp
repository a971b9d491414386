// SPDX-License-Identifier: Apache-2.0
#include "device/affinity.hpp"

#include <unistd.h>

#include "topology/linux/cpu_set.hpp"

namespace TESSERA_NAMESPACE::detail {

bool bind_thread_near(const std::string& cpuset) {
  if (cpuset.empty()) return true;
  auto wanted = parse_cpu_list(cpuset);
  if (!wanted) return false;

  // The batch system or mpirun sets the affinity of the main thread.
  const CpuSet allowed = affinity_of(getpid());
  *wanted &= allowed;
  if (wanted->none()) *wanted = allowed;
  return wanted->any() && bind_this_thread(*wanted) && affinity_of(0) == *wanted;
}

}  // namespace TESSERA_NAMESPACE::detail
