// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/trace.hpp>
#include <tessera/gam/fit.hpp>
#include <tessera/mpi/communicator.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Adds the lifetime of this object to the report as the time of a phase, and marks the phase for profilers.
/// Times of the same name are summed; phases do not nest.
class PhaseClock {
 public:
  /// `purpose` names the phase's collectives in the timeout message about a missing rank.
  PhaseClock(const mpi::Communicator& comm, std::vector<PhaseTime>& phases, std::string name,
             std::string purpose);
  ~PhaseClock();
  PhaseClock(const PhaseClock&) = delete;
  PhaseClock& operator=(const PhaseClock&) = delete;

  void add_bytes(std::int64_t bytes) { bytes_ += bytes; }

 private:
  using Clock = std::chrono::steady_clock;

  std::vector<PhaseTime>& phases_;
  std::string name_;
  mpi::Purpose purpose_;
  TraceRange range_{name_.c_str()};
  Clock::time_point start_ = Clock::now();
  std::int64_t bytes_ = 0;
};

}  // namespace TESSERA_NAMESPACE::gam
