// SPDX-License-Identifier: Apache-2.0
#include "nccl_suite.hpp"

#include "device_work.hpp"

#include <fmt/core.h>

#include <tessera/job/device_collectives.hpp>
#include <tessera/job/together.hpp>

namespace tessera::bench {
namespace {

/// The contexts of this rank's devices, in the order of `Tile::device_index`.
std::vector<DeviceContext*> contexts_of(DevicePool& pool) {
  std::vector<DeviceContext*> contexts(pool.size());
  for (std::size_t i = 0; i < pool.size(); ++i)
    contexts[static_cast<std::size_t>(pool.entries()[i].claim_index)] = &pool.context_at(i);
  return contexts;
}

/// A zero array on each of this rank's devices.
std::vector<DeviceZeros> zeros_on(const std::vector<DeviceContext*>& contexts, std::size_t bytes) {
  std::vector<DeviceZeros> all;
  for (const DeviceContext* context : contexts) {
    context->bind();
    all.emplace_back(bytes);
  }
  return all;
}

/// Sums of several sizes by one way over the devices of a job of its own.
std::vector<Measurement> sums_by(Job& job, const SuiteOptions& options, const char* what, int calls) {
  const int repeats = options.repeats.value_or(10);
  std::vector<Measurement> all;
  for (const std::size_t count : {std::size_t{1}, std::size_t{40'000}, std::size_t{1} << 20}) {
    std::vector<DeviceZeros> zeros;
    together(job.comm(), [&] { zeros = zeros_on(contexts_of(job.devices()), count * sizeof(double)); });
    std::vector<double*> arrays;
    arrays.reserve(zeros.size());
    for (const DeviceZeros& array : zeros) arrays.push_back(static_cast<double*>(array.data()));
    const std::string name =
        fmt::format("{}, {}, {}", counted(count, "double"),
                    counted(job.inventory().devices().size(), "device"), counted(job.comm().size(), "rank"));
    all.push_back(in_microseconds({"nccl", name, what, "s", seconds_of(job.comm(), repeats, calls, [&] {
                                     job.collectives().sum(std::span<double* const>(arrays), count);
                                   })}));
  }
  return all;
}

std::vector<Measurement> run_nccl_suite(const mpi::Communicator& comm, const SuiteOptions& options) {
  std::vector<Measurement> by_nccl;
  {
    Job job(comm, job_options(options));
    if (job.collectives().open() != DeviceCollectives::Path::nccl) {
      note(comm, "nccl", "left out: " + job.collectives().reason());
      return {};
    }
    by_nccl = sums_by(job, options, "sum by NCCL", 50);
  }
  if (!options.peer) return by_nccl;
  Job job(comm, job_options(options));
  (void)job.collectives().open(DeviceCollectives::Path::hosts);
  const auto by_hosts = sums_by(job, options, "sum through the hosts, MPI", 5);
  std::vector<Measurement> all;
  for (std::size_t i = 0; i < by_nccl.size(); ++i)
    all.insert(all.end(), {by_nccl[i], by_hosts[i], ratio_of(by_nccl[i], by_hosts[i])});
  return all;
}

}  // namespace

Suite nccl_suite() {
  return {
      "nccl", "Sums over the devices of the job by NCCL, beside MPI through the hosts", run_nccl_suite, {}};
}

}  // namespace tessera::bench
