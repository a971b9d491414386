// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/job.hpp>

#include <cstdlib>
#include <utility>

namespace tessera::bench {

/// A job on the GPUs, or on eight simulated devices a rank where there is none. *Collective.*
[[nodiscard]] inline Job job_on_devices(const mpi::Communicator& comm, JobOptions options) {
  Job job(comm, options);
  if (!job.on_host()) return job;
  setenv("TESSERA_SIMULATE", "*:8xH200", 1);
  options.policy = Policy::gpu;
  Job rehearsal(comm, std::move(options));
  unsetenv("TESSERA_SIMULATE");
  return rehearsal;
}

}  // namespace tessera::bench
