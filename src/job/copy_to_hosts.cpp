// SPDX-License-Identifier: Apache-2.0
// Device-to-host copies of arrays outside of passes, and the handling of device failures.
#include "job/array_state.hpp"
#include "job/state.hpp"

#include <tessera/error.hpp>
#include <tessera/job/device_turn.hpp>

namespace TESSERA_NAMESPACE {

void Job::State::copy_to_hosts(const Plan& plan, const Pass& work, const Attempt& attempt) {
  std::vector<detail::ArrayState*> used;
  for (const detail::ArrayAccess& access : work.arrays)
    if (access.array->is_outdated_on_host()) used.push_back(access.array);
  if (!used.empty()) copy_to_hosts_in_pass(used, plan, work, attempt);
}

void Job::State::copy_to_hosts_in_pass(std::span<detail::ArrayState* const> wanted, const Plan& plan,
                                       const Pass& work, const Attempt& attempt) {
  // Votes first, because a rank that has failed would not make the collective copy.
  if (const Ballot ready = vote(attempt, plan, work); ready.outcome != Outcome::success)
    end_pass(attempt, ready);
  copy_to_hosts_or_throw(wanted);
}

void Job::State::copy_to_hosts_or_throw(std::span<detail::ArrayState* const> wanted) {
  require_thread();
  const DeviceTurn turn(*this);
  Attempt attempt;
  const auto lost = arrays.copy_to_hosts(wanted, attempt);
  if (!lost) return;
  const bool goes_on = exclude(attempt);
  arrays.roll_back();
  if (!goes_on) fall_back(*lost);
  throw_rolled_back(*lost);
}

void Job::State::throw_rolled_back(const Verdict::Failure& lost) {
  const std::string what = tessera::to_string(lost);
  verdict = no_verdict(what);
  throw Error(ErrorCode::rolled_back,
              what +
                  ": data that existed only on this device are lost, and all arrays have returned to their "
                  "last host copies: continue from these copies");
}

}  // namespace TESSERA_NAMESPACE
