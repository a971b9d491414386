// SPDX-License-Identifier: Apache-2.0
#include "job/host_pass.hpp"
#include "job/roll_call.hpp"
#include "job/state.hpp"

#include <tessera/error.hpp>

#include <algorithm>
#include <thread>

namespace tessera {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::usage, message);
}

/// The fault point "vote-late": longer than the others wait, or a moment if they wait for ever.
void come_late(std::chrono::milliseconds timeout) {
  const std::chrono::milliseconds lateness =
      timeout.count() > 0 ? timeout + 6 * RollCall::grace : std::chrono::milliseconds(50);
  std::this_thread::sleep_for(lateness);
}

}  // namespace

Ballot Job::State::vote(const Attempt& attempt, const Plan& plan, const Pass& work) {
  if (faults.hit(fault::Stage::vote_late, std::nullopt, pass)) come_late(ballots.timeout());
  const std::int64_t signature =
      signature_of({pass, plan.units(), plan.block(), plan.ranks(), plan.on_devices() ? 1 : 0,
                    static_cast<std::int64_t>(plan.tiles().size()), work.width});
  return ballots.vote(
      attempt.ballot(), signature, inventory, "the vote of " + pass_name(),
      "the ranks do not make the same call in " + pass_name() +
          ": every rank must call the same verbs in the same order, with the same plan and width");
}

void Job::State::refuse_if_gpu_is_required() const {
  if (options.policy == Policy::gpu && lost)
    throw Error(ErrorCode::device_absent, "a GPU is required, but " + tessera::to_string(*lost));
}

void Job::State::fall_back(const Verdict::Failure& first) {
  lost = first;
  pool = DevicePool();
  refuse_if_gpu_is_required();
}

void Job::run(const Plan& plan, const Pass& pass) {
  State& state = *state_;
  state.refuse_if_gpu_is_required();
  ++state.pass;

  Attempt attempt;
  attempt.run([&] {
    if (plan.ranks() != comm().size())
      refuse("the plan is for " + std::to_string(plan.ranks()) + " ranks, the job has " +
             std::to_string(comm().size()) + ": make it with this job's plan()");
    const std::int64_t mine = local_range(plan).size();
    if (pass.local_units.value_or(mine) != mine)
      refuse("rank " + std::to_string(comm().rank()) + " brings " + std::to_string(*pass.local_units) +
             " units, but the plan gives it " + std::to_string(mine) + ": bring those of local_range(plan)");
    if (pass.device_bytes_per_unit < 0) refuse("device_bytes_per_unit is negative");
    if (runs_on_devices(plan)) {
      const auto devices = static_cast<std::int32_t>(state.pool.size());
      for (const PlannedTile& tile : plan.tiles_of(comm().rank())) {
        if (tile.device < 0 || tile.device >= devices)
          refuse("the plan has a tile for device " + std::to_string(tile.device) + " of rank " +
                 std::to_string(comm().rank()) + ", which has " + std::to_string(devices) +
                 ": make it with this job's plan()");
      }
    }
    pass.prepare();
  });
  const bool prepared = attempt.ok();

  if (runs_on_devices(plan)) {
    if (prepared) state.compute_on_devices(plan, pass, attempt);
    attempt.run(pass.finish);
    const Ballot decided = state.vote(attempt, plan, pass);
    if (decided.outcome == Outcome::success) {
      state.verdict = {};
      state.verdict.ran = Verdict::Ran::devices;
      state.verdict.devices = static_cast<int>(plan.tiles().size());
      state.verdict.simulated = any_simulated(state.inventory);
      return;
    }
    Attempt again;
    if (prepared) again.run(pass.restore);
    if (decided.outcome == Outcome::fatal) attempt.rethrow(decided, state.pass_name());
    attempt = again;
    state.fall_back(decided.failure);
  }

  attempt.run([&] { compute_on_host(local_range(plan), plan.block(), threads(), pass.on_host); });
  attempt.run(pass.finish);
  const Ballot decided = state.vote(attempt, plan, pass);
  if (decided.outcome != Outcome::success) attempt.rethrow(decided, state.pass_name());
  state.verdict = {};
  if (state.lost) {
    state.verdict.ran = Verdict::Ran::fallback;
    state.verdict.failure = *state.lost;
  } else {
    state.verdict.ran = Verdict::Ran::host;
    state.verdict.absence = state.absence.empty() ? "the plan is over the hosts" : state.absence;
  }
}

}  // namespace tessera
