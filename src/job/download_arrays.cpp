// SPDX-License-Identifier: Apache-2.0
// Copies arrays from the devices to the hosts, and handles device failures during the copies.
#include "job/array_state.hpp"
#include "job/state.hpp"

#include <tessera/error.hpp>
#include <tessera/job/device_turn.hpp>

namespace TESSERA_NAMESPACE {

void Job::State::bring_home_for(const Plan& plan, const Pass& work, const Attempt& attempt) {
  std::vector<detail::ArrayState*> used;
  for (const detail::ArrayAccess& access : work.arrays)
    if (access.array->is_stale_on_host()) used.push_back(access.array);
  if (!used.empty()) bring_home_in_pass(used, plan, work, attempt);
}

void Job::State::bring_home_in_pass(std::span<detail::ArrayState* const> wanted, const Plan& plan,
                                    const Pass& work, const Attempt& attempt) {
  // A download is collective, and a rank may have failed to prepare: vote first.
  if (const Ballot ready = vote(attempt, plan, work); ready.outcome != Outcome::success)
    end_pass(attempt, ready);
  bring_home_or_throw(wanted);
}

void Job::State::bring_home_or_throw(std::span<detail::ArrayState* const> wanted) {
  require_thread();
  const DeviceTurn turn(*this);
  Attempt attempt;
  const auto lost = arrays.bring_home(wanted, attempt);
  if (!lost) return;
  const bool goes_on = exclude(attempt);
  arrays.roll_back();
  if (!goes_on) fall_back(*lost);
  throw_rolled_back(*lost);
}

void Job::State::throw_rolled_back(const Verdict::Failure& lost) {
  const std::string what = tessera::to_string(lost);
  verdict = no_verdict(what);
  throw Error(ErrorCode::rolled_back, what +
                                          ": the data that only it had are lost; arrays are back at the "
                                          "versions of the hosts: continue from there");
}

}  // namespace TESSERA_NAMESPACE
