// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "topology/driver/nvml.hpp"

#include <vector>

namespace tessera::testing {

/// The behaviour of the fake libnvidia-ml.so.1. It has three GPUs: an H200; one that this process may not
/// open; and one in MIG mode, in PCI domain 1, with instances in slots 0 and 3.
struct FakeNvml {
  nvml::Status init = nvml::Status::success;
  nvml::Status cuda_library = nvml::Status::success;
  int cuda_version = 13000;
  unsigned devices = 3;
  int lost = -1;                           ///< index of a GPU that cannot be read
  int lost_instance = -1;                  ///< place of an instance that cannot be read
  int open = 0;                            ///< nvmlInit calls less nvmlShutdown calls
  int event_sets = 0;                      ///< made less freed
  std::vector<unsigned long long> xids{};  ///< numbers of errors to come, all of the first GPU
};

}  // namespace tessera::testing
