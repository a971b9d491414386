// SPDX-License-Identifier: Apache-2.0
#include "software.hpp"

#include <fmt/format.h>
#include <tessera/device/kernel_compiler.hpp>
#include <tessera/job/device_collectives.hpp>
#include <tessera/mpi/library.hpp>

#include <algorithm>
#include <utility>

#include "common/instruction_set.hpp"
#include "common/text.hpp"

namespace tessera::info {
namespace {

using Versions = std::vector<std::pair<std::string, std::string>>;

std::string or_none(std::string version) {
  return version.empty() ? "none" : std::move(version);
}

Versions versions_here(const DriverState& driver, bool has_gpu) {
  const mpi::LibraryInfo mpi = mpi::library_info();
  Versions versions{
      {"MPI", mpi.version},
      {"MPI threads", mpi.thread_level.empty() ? "MPI is not started" : std::string(mpi.thread_level)},
      {"MPI of GPU memory", !mpi.gpu_aware   ? "not known"
                            : *mpi.gpu_aware ? "yes"
                                             : "no"},
      {"instruction set", apps::instruction_set()},
      {"CUDA of the build", or_none(cuda_version_of_build())}};
  if (!driver.version.empty())
    versions.emplace_back("NVIDIA driver", fmt::format("{} (CUDA {})", driver.version, or_none(driver.cuda)));
  if (has_gpu) {
    versions.emplace_back("NVRTC", or_none(nvrtc_compiler()->version()));
    versions.emplace_back("NCCL", or_none(nccl_version()));
  }
  return versions;
}

}  // namespace

std::vector<Software> gather_software(const mpi::Communicator& comm, const DriverState& driver,
                                      bool has_gpu) {
  const auto of_ranks = apps::allgather_values(comm, versions_here(driver, has_gpu));
  std::vector<Software> all;
  for (int rank = 0; rank < comm.size(); ++rank) {
    for (const auto& [what, version] : of_ranks[static_cast<std::size_t>(rank)]) {
      auto known = std::ranges::find_if(all, [&, &what = what, &version = version](const Software& one) {
        return one.what == what && one.version == version;
      });
      if (known == all.end()) known = all.insert(all.end(), {what, version, {}});
      known->ranks.push_back(rank);
    }
  }
  std::ranges::stable_sort(all, {}, &Software::what);
  return all;
}

std::string as_ranges(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", ranks[i]);
    if (last > i) text += fmt::format("-{}", ranks[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace tessera::info
