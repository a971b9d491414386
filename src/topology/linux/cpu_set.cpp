// SPDX-License-Identifier: Apache-2.0
#include "topology/linux/cpu_set.hpp"

#include "base/number.hpp"

#include <sched.h>

#include <cstddef>
#include <vector>

namespace TESSERA_NAMESPACE::detail {
namespace {

/// A dynamic cpu_set_t with the size of a `CpuSet`.
class CpuMask {
 public:
  [[nodiscard]] cpu_set_t* get() noexcept { return reinterpret_cast<cpu_set_t*>(words_.data()); }
  [[nodiscard]] std::size_t bytes() const noexcept { return words_.size() * sizeof(unsigned long); }

 private:
  std::vector<unsigned long> words_ =
      std::vector<unsigned long>(CPU_ALLOC_SIZE(CpuSet().size()) / sizeof(unsigned long));
};

}  // namespace

CpuSet affinity_of(pid_t id) {
  CpuSet cpus;
  CpuMask mask;
  if (sched_getaffinity(id, mask.bytes(), mask.get()) != 0) return cpus;
  for (std::size_t cpu = 0; cpu < cpus.size(); ++cpu) cpus[cpu] = CPU_ISSET_S(cpu, mask.bytes(), mask.get());
  return cpus;
}

bool bind_this_thread(const CpuSet& cpus) {
  CpuMask mask;
  for (std::size_t cpu = 0; cpu < cpus.size(); ++cpu)
    if (cpus[cpu]) CPU_SET_S(cpu, mask.bytes(), mask.get());
  return sched_setaffinity(0, mask.bytes(), mask.get()) == 0;
}

std::string list_text(const CpuSet& cpus) {
  std::string list;
  for (std::size_t first = 0; first < cpus.size(); ++first) {
    if (!cpus[first]) continue;
    std::size_t last = first;
    while (last + 1 < cpus.size() && cpus[last + 1]) ++last;
    if (!list.empty()) list += ',';
    list += std::to_string(first);
    if (last > first) list += '-' + std::to_string(last);
    first = last;
  }
  return list;
}

std::optional<CpuSet> parse_cpu_list(std::string_view list) {
  CpuSet cpus;
  for (bool is_first = true; !list.empty(); is_first = false) {
    if (!is_first) {
      if (list.front() != ',') return std::nullopt;
      list.remove_prefix(1);
    }
    const auto first = base::take_number<std::size_t>(list);
    auto last = first;
    if (list.starts_with('-')) {
      list.remove_prefix(1);
      last = base::take_number<std::size_t>(list);
    }
    if (!first || !last || *last < *first || *last >= cpus.size()) return std::nullopt;
    for (std::size_t cpu = *first; cpu <= *last; ++cpu) cpus.set(cpu);
  }
  return cpus;
}

}  // namespace TESSERA_NAMESPACE::detail
