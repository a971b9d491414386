// SPDX-License-Identifier: Apache-2.0
#include "device/affinity.hpp"

#include <hwloc.h>
#include <sched.h>
#include <unistd.h>

#include <memory>
#include <new>
#include <vector>

namespace TESSERA_NAMESPACE::detail {
namespace {

using Bitmap = std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)>;

Bitmap make_bitmap() {
  Bitmap bitmap(hwloc_bitmap_alloc(), &hwloc_bitmap_free);
  if (!bitmap) throw std::bad_alloc();
  return bitmap;
}

/// A dynamically sized cpu_set_t.
class CpuMask {
 public:
  CpuMask() : words_(CPU_ALLOC_SIZE(capacity) / sizeof(unsigned long)) {}

  [[nodiscard]] cpu_set_t* get() noexcept { return reinterpret_cast<cpu_set_t*>(words_.data()); }
  [[nodiscard]] std::size_t bytes() const noexcept { return words_.size() * sizeof(unsigned long); }

  // The maximum of any kernel (CONFIG_NR_CPUS of x86 with MAXSMP).
  static constexpr int capacity = 8192;

 private:
  std::vector<unsigned long> words_;
};

/// The CPUs that thread `id` may use; 0 is the calling thread. Empty on failure.
Bitmap affinity_of(pid_t id) {
  Bitmap cpus = make_bitmap();
  CpuMask mask;
  if (sched_getaffinity(id, mask.bytes(), mask.get()) != 0) return cpus;
  for (int cpu = 0; cpu < CpuMask::capacity; ++cpu) {
    if (CPU_ISSET_S(cpu, mask.bytes(), mask.get())) hwloc_bitmap_set(cpus.get(), cpu);
  }
  return cpus;
}

bool set_affinity_of_this_thread(hwloc_const_bitmap_t cpus) {
  CpuMask mask;
  for (int cpu = hwloc_bitmap_first(cpus); cpu >= 0; cpu = hwloc_bitmap_next(cpus, cpu)) {
    CPU_SET_S(cpu, mask.bytes(), mask.get());
  }
  return sched_setaffinity(0, mask.bytes(), mask.get()) == 0;
}

}  // namespace

bool bind_thread_near(const std::string& cpuset) {
  if (cpuset.empty()) return true;
  const Bitmap wanted = make_bitmap();
  if (hwloc_bitmap_list_sscanf(wanted.get(), cpuset.c_str()) != 0) return false;

  // The main thread's affinity is what the batch system or mpirun gave this process.
  const Bitmap allowed = affinity_of(getpid());
  hwloc_bitmap_and(wanted.get(), wanted.get(), allowed.get());
  if (hwloc_bitmap_iszero(wanted.get())) hwloc_bitmap_copy(wanted.get(), allowed.get());

  if (hwloc_bitmap_iszero(wanted.get()) || !set_affinity_of_this_thread(wanted.get())) return false;
  return hwloc_bitmap_isequal(affinity_of(0).get(), wanted.get()) != 0;
}

}  // namespace TESSERA_NAMESPACE::detail
