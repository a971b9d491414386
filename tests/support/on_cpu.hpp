// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/job.hpp>

namespace tessera {

/// Options of a job that computes on the CPU; 0 threads: chosen by the job.
inline JobOptions on_cpu(int threads = 0, StopRequest* stop = nullptr) {
  JobOptions options;
  options.policy = Policy::cpu;
  options.threads = threads;
  options.stop = stop;
  return options;
}

}  // namespace tessera
