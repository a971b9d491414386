// SPDX-License-Identifier: Apache-2.0
#include "job/host_pass.hpp"
#include "job/state.hpp"
#include "mpi/roll_call.hpp"

#include <tessera/device/trace.hpp>
#include <tessera/error.hpp>

#include <algorithm>
#include <csignal>
#include <thread>

namespace tessera {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::usage, message);
}

/// The fault point "vote-late": longer than the others wait, or a moment if they wait for ever.
void come_late(std::chrono::milliseconds timeout) {
  const std::chrono::milliseconds lateness =
      timeout.count() > 0 ? timeout + 6 * mpi::detail::RollCall::grace : std::chrono::milliseconds(50);
  std::this_thread::sleep_for(lateness);
}

}  // namespace

void Job::State::check_call(const Plan& plan, const Pass& work, bool on_devices) const {
  const int rank = comm.rank();
  if (plan.ranks() != comm.size())
    refuse("the plan is for " + std::to_string(plan.ranks()) + " ranks, the job has " +
           std::to_string(comm.size()) + ": make it with this job's plan()");
  const std::int64_t mine = plan.range_of(rank).size();
  if (work.local_units.value_or(mine) != mine)
    refuse("rank " + std::to_string(rank) + " brings " + std::to_string(*work.local_units) +
           " units, but the plan gives it " + std::to_string(mine) + ": bring those of local_range(plan)");
  if (work.device_bytes_per_unit < 0)
    refuse("device_bytes_per_unit is " + std::to_string(work.device_bytes_per_unit) +
           ": give the bytes that a unit needs on a device, or 0");
  if (!on_devices) return;
  for (const PlannedTile& tile : plan.tiles_of(rank)) {
    if (tile.device < 0 || static_cast<std::size_t>(tile.device) >= pool.size())
      refuse("the plan has a tile for device " + std::to_string(tile.device) + " of rank " +
             std::to_string(rank) + ", which has " + std::to_string(pool.size()) +
             ": make it with this job's plan()");
  }
}

Ballot Job::State::vote(const Attempt& attempt, const Plan& plan, const Pass& work) {
  const TraceRange range("vote", pass);
  if (faults.hit(fault::Stage::vote_late, std::nullopt, pass)) come_late(ballots.timeout());
  const std::int64_t signature =
      signature_of({pass, static_cast<std::int64_t>(plan.fingerprint()), work.width});
  return ballots.vote(attempt.ballot(), signature, inventory, "the vote of " + pass_name());
}

void Job::State::stop_if_agreed() const {
  if (options.stop != nullptr && options.stop->agreed())
    throw Error(ErrorCode::interrupted, "stopped by " + options.stop->cause());
}

void Job::State::end_pass(const Attempt& attempt, const Ballot& decided) const {
  if (decided.outcome == Outcome::stopped) {
    (void)options.stop->agree();
    stop_if_agreed();
  }
  attempt.end(decided, pass_name(),
              "the ranks do not make the same call in " + pass_name() +
                  ": every rank must call the same verbs in the same order, with the same plan and width");
}

void Job::State::refuse_if_gpu_is_required() const {
  if (options.policy == Policy::gpu && lost)
    throw Error(ErrorCode::job_fault, "a GPU is required, but " + tessera::to_string(*lost));
}

void Job::State::fall_back(const Verdict::Failure& first) {
  lost = first;
  device_threads.reset();
  if (collectives) collectives->close();
  refuse_if_gpu_is_required();
}

Verdict Job::State::verdict_of_devices(int devices) const {
  Verdict done;
  done.ran = Verdict::Ran::devices;
  done.devices = devices;
  done.simulated = std::ranges::any_of(inventory.devices(), &InventoryDevice::simulated);
  return done;
}

Verdict Job::State::verdict_of_host() const {
  Verdict done;
  if (lost) {
    done.ran = Verdict::Ran::fallback;
    done.failure = *lost;
  } else {
    done.absence = absence.empty() ? "the plan is over the hosts" : absence;
  }
  return done;
}

void Job::run(const Plan& plan, const Pass& pass) {
  State& state = *state_;
  state.refuse_if_gpu_is_required();
  state.stop_if_agreed();
  ++state.pass;
  if (state.faults.hit(fault::Stage::stop, std::nullopt, state.pass)) (void)std::raise(SIGSTOP);
  if (state.faults.hit(fault::Stage::signal, std::nullopt, state.pass)) (void)std::raise(SIGUSR1);
  if (state.faults.hit(fault::Stage::kill, std::nullopt, state.pass)) (void)std::raise(SIGKILL);
  const TraceRange range("pass", state.pass);
  const bool on_devices = runs_on_devices(plan);

  Attempt attempt;
  attempt.run([&] {
    state.check_call(plan, pass, on_devices);
    pass.prepare();
  });
  if (on_devices) {
    const bool prepared = attempt.ok();
    if (prepared) state.compute_on_devices(plan, pass, attempt);
    attempt.run(pass.finish);
    const Ballot decided = state.vote(attempt, plan, pass);
    if (decided.outcome == Outcome::success) {
      state.verdict = state.verdict_of_devices(static_cast<int>(plan.tiles().size()));
      return;
    }
    Attempt on_host;
    if (prepared) on_host.run(pass.restore);
    if (decided.outcome != Outcome::device_failed) state.end_pass(attempt, decided);
    state.fall_back(decided.failure);
    attempt = on_host;
  }

  attempt.run([&] {
    const TraceRange host("host");
    if (!compute_on_host(local_range(plan), plan.block(), threads(), pass.on_host, state.options.stop))
      attempt.cut_short();
  });
  attempt.run(pass.finish);
  const Ballot decided = state.vote(attempt, plan, pass);
  if (decided.outcome != Outcome::success) state.end_pass(attempt, decided);
  state.verdict = state.verdict_of_host();
}

}  // namespace tessera
