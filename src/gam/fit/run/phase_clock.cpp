// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/run/phase_clock.hpp"

#include <algorithm>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

PhaseClock::PhaseClock(const mpi::Communicator& comm, std::vector<PhaseTime>& phases, std::string name,
                       std::string purpose)
    : phases_(phases), name_(std::move(name)), purpose_(comm, std::move(purpose)) {}

PhaseClock::~PhaseClock() {
  const std::chrono::duration<double> elapsed = Clock::now() - start_;
  const auto found = std::ranges::find(phases_, name_, &PhaseTime::name);
  PhaseTime& phase = found != phases_.end() ? *found : phases_.emplace_back(PhaseTime{name_, 0, 0});
  phase.seconds += elapsed.count();
  phase.bytes += bytes_;
}

}  // namespace TESSERA_NAMESPACE::gam
