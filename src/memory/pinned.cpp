// SPDX-License-Identifier: Apache-2.0
#include <tessera/memory/pinned.hpp>

#include "base/huge_pages.hpp"
#include "device/cuda_calls.hpp"

#include <tessera/device/context.hpp>
#include <tessera/error.hpp>

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE {
namespace {

// System calls instead of hwloc, whose topology discovery takes tens of milliseconds.

/// Sets the preferred NUMA node of pages that are not allocated yet.
void prefer_node(void* memory, std::size_t bytes, int node) {
  constexpr std::size_t word_bits = sizeof(unsigned long) * CHAR_BIT;
  const auto bit = static_cast<std::size_t>(node);
  std::vector<unsigned long> nodes(bit / word_bits + 1);
  nodes[bit / word_bits] = 1ul << (bit % word_bits);
  (void)syscall(SYS_mbind, memory, bytes, MPOL_PREFERRED, nodes.data(), nodes.size() * word_bits + 1, 0u);
}

/// Whether all pages, which must have been touched, are on the NUMA node `node`.
bool is_on_node(void* memory, std::size_t bytes, int node) {
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t pages = (bytes + page_bytes - 1) / page_bytes;
  std::array<void*, 1024> asked{};
  std::array<int, 1024> nodes{};
  for (std::size_t first = 0; first < pages; first += asked.size()) {
    const std::size_t count = std::min(asked.size(), pages - first);
    for (std::size_t i = 0; i < count; ++i)
      asked[i] = static_cast<std::byte*>(memory) + (first + i) * page_bytes;
    // Without target nodes, move_pages reports the nodes of the pages.
    if (syscall(SYS_move_pages, 0, count, asked.data(), nullptr, nodes.data(), 0) != 0) return false;
    if (std::any_of(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(count),
                    [&](int found) { return found != node; }))
      return false;
  }
  return true;
}

}  // namespace

PinnedMemory::PinnedMemory(std::size_t bytes, const DeviceContext& context) {
  const DeviceInfo& device = context.info();
  if (bytes == 0) return;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw Error(ErrorCode::job_fault, "pinned memory: the system cannot map " + std::to_string(bytes) +
                                          " bytes: " + std::strerror(errno));
  data_ = memory;
  size_bytes_ = bytes;
  if (device.numa_node >= 0) prefer_node(memory, bytes, device.numa_node);
  base::prefer_huge_pages(memory, bytes);
  std::memset(memory, 0, bytes);  // allocates the pages on the preferred node
  near_device_ = device.numa_node >= 0 && is_on_node(memory, bytes, device.numa_node);
  if (device.has_host_memory()) return;
  try {
    context.bind();
    cuda::pin(memory, bytes);
    pinned_ = true;
    ordinal_ = context.ordinal();
  } catch (...) {
    (void)munmap(memory, bytes);
    throw;
  }
}

PinnedMemory::~PinnedMemory() {
  if (pinned_) cuda::unpin(data_, ordinal_);
  if (data_ != nullptr) (void)munmap(data_, size_bytes_);
}

}  // namespace TESSERA_NAMESPACE
