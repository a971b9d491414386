// SPDX-License-Identifier: Apache-2.0
#include "base/huge_pages.hpp"
#include "base/seconds_since.hpp"
#include "job/array_state.hpp"
#include "job/state.hpp"
#include "job/tile/checked_call.hpp"
#include "job/tile/host_pass.hpp"
#include "mpi/check.hpp"
#include "mpi/communicator_access.hpp"
#include "mpi/time_limit.hpp"

#include <tessera/device/trace.hpp>
#include <tessera/error.hpp>
#include <tessera/job/device_turn.hpp>

#include <cxxabi.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <thread>

namespace TESSERA_NAMESPACE {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::usage, message);
}

/// Fault point "vote-late": sleeps longer than the vote's timeout if the timeout is at most a minute, else
/// briefly.
void delay_vote(std::chrono::milliseconds timeout) {
  const bool ends_job = timeout.count() > 0 && timeout <= std::chrono::minutes(1);
  std::this_thread::sleep_for(ends_job ? timeout + 6 * mpi::detail::grace_of_watchdogs
                                       : std::chrono::milliseconds(50));
}

std::string described(std::span<const detail::ArrayAccess> arrays) {
  std::string text;
  for (const detail::ArrayAccess& access : arrays) {
    const char* use = access.use == detail::ArrayUse::read    ? " is read"
                      : access.use == detail::ArrayUse::write ? " is written"
                                                              : " is modified";
    text += "\narray " + std::to_string(access.array->number) + " of version " +
            std::to_string(access.array->version) + use + ", " + std::to_string(access.array->unit_bytes) +
            " bytes per unit";
  }
  return text;
}

std::string demangled(const std::type_info& type) {
  int failed = 0;
  const std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &failed), &std::free);
  return failed == 0 ? readable.get() : type.name();
}

}  // namespace

Job::Call Job::call_of(const char* verb, std::initializer_list<const std::type_info*> types,
                       std::initializer_list<std::size_t> bytes) {
  Call call;
  call.verb = verb;
  const auto* size = bytes.begin();
  for (const std::type_info* type : types) {
    call.types +=
        (call.types.empty() ? "of " : " to ") + demangled(*type) + " (" + std::to_string(*size) + " bytes)";
    call.signature = signature_of(
        {call.signature, static_cast<std::int64_t>(type->hash_code()), static_cast<std::int64_t>(*size++)});
  }
  call.signature =
      signature_of({call.signature, static_cast<std::int64_t>(std::hash<std::string_view>{}(verb))});
  return call;
}

void Job::State::require_thread() const {
  mpi::detail::CommunicatorAccess::require_usable(comm);
  // Over MPI, `require_usable` has checked the thread: functions of a pass run on other threads.
  if (comm.is_serial() && ApplicationScope::is_entered())
    throw Misuse("a function of a pass called a collective member of a Job: call it between passes");
}

HostTeam& Job::State::team() {
  if (!host_team) host_team.emplace(threads.count, [this] { report_progress(); });
  return *host_team;
}

void Job::State::report_progress() const {
  comm.alive();
  if (options.stop != nullptr) options.stop->poll();
}

void Job::State::check_call(const Plan& plan, const Pass& work, bool on_devices) const {
  const int rank = comm.rank();
  if (plan.ranks() != comm.size())
    refuse("the plan is for " + std::to_string(plan.ranks()) + " ranks, but the job has " +
           std::to_string(comm.size()) + ": create the plan with Job::plan() of this job");
  const std::int64_t mine = plan.range_of(rank).size();
  if (work.local_units.value_or(mine) != mine)
    refuse("rank " + std::to_string(rank) + " gives " + std::to_string(*work.local_units) +
           " units, but has " + std::to_string(mine) + " in the plan: give the units of local_range(plan)");
  if (!work.has_functions)
    refuse("a function of the pass is null: give a function for devices and a function for the host");
  if (const std::int64_t before_last = (plan.units() - 1) / plan.block(); before_last >= work.max_blocks)
    refuse("the plan has " + std::to_string(before_last + 1) + " blocks, but a reproducible sum allows " +
           std::to_string(work.max_blocks) + " at most: use larger blocks");
  if (work.device_bytes_per_unit < 0)
    refuse("device_bytes_per_unit is " + std::to_string(work.device_bytes_per_unit) +
           ": give the bytes that a unit needs on a device, or 0");
  if (!on_devices) return;
  for (const PlannedTile& tile : plan.tiles_of(rank)) {
    if (tile.device < 0 || static_cast<std::size_t>(tile.device) >= pool.size())
      refuse("the plan has a tile for device " + std::to_string(tile.device) + " of rank " +
             std::to_string(rank) + ", which has " + std::to_string(pool.size()) +
             ": create the plan with Job::plan() of this job");
  }
}

Ballot Job::State::vote(const Attempt& attempt, const Plan& plan, const Pass& work) {
  const TraceRange range("vote", pass);
  if (faults.hit(fault::Stage::vote_late, std::nullopt, pass)) delay_vote(ballots.timeout());
  const std::int64_t signature = signature_of(
      {pass, work.call->signature, static_cast<std::int64_t>(plan.fingerprint()), work.width,
       work.device_bytes_per_unit, work.host_only ? 1 : 0, detail::JobArrays::signature_of_use(work.arrays)});
  return ballots.vote(attempt.ballot(), signature, inventory, "the vote of " + pass_name(), [&] {
    return pass_name() + "\n" + work.call->verb + ' ' + work.call->types + "\na plan of " +
           std::to_string(plan.units()) + " units in blocks of " + std::to_string(plan.block()) + " (" +
           std::to_string(plan.fingerprint()) + ")\nwidth " + std::to_string(work.width) + '\n' +
           std::to_string(work.device_bytes_per_unit) + " bytes per unit on a device" +
           (work.host_only ? "\na pass for hosts alone" : "\na function for devices") +
           described(work.arrays);
  });
}

void Job::State::stop_if_agreed() const {
  if (options.stop != nullptr && options.stop->agreed()) throw_stopped();
}

void Job::State::throw_stopped() const {
  throw Error(ErrorCode::interrupted, "stopped by " + options.stop->cause());
}

void Job::State::stop_pass() {
  (void)options.stop->agree();
  verdict = no_verdict("stopped by " + options.stop->cause());
  throw_stopped();
}

void Job::State::end_pass(const Attempt& attempt, const Ballot& decided) {
  if (decided.outcome == Outcome::stopped) stop_pass();
  const std::string differs = "the ranks make different calls in " + pass_name() +
                              " (every rank must call the same members of Job in the same order, with the "
                              "same plan, types and width)";
  verdict = no_verdict(decided.outcome == Outcome::disagreement ? differs + ": " + decided.failure.reason
                                                                : failure_in(pass_name(), decided));
  attempt.end(decided, pass_name(), differs);
}

bool Job::State::run_on_devices(const Plan& plan, const Pass& work, Attempt& attempt) {
  const bool prepared = attempt.ok();
  if (prepared) begin_turn();
  for (;;) {
    std::optional<Plan> other;
    attempt.run([&] { other = substitute_for(plan, work); });
    bool moves = other && rank_without_device(plan, remaining);
    if (moves) {
      // Votes first, because a rank that has failed would not make the collective exchange of units.
      if (const Ballot ready = vote(attempt, plan, work); ready.outcome != Outcome::success)
        end_pass(attempt, ready);
      if (work.arrays.empty()) {
        work.bring(*other);
      } else {  // arrays move permanently, and `plan`, a reference to their plan, changes
        arrays.move(arrays.distributed_by(plan), *other);
        other.reset();
        moves = false;
      }
    }
    const Plan& used = other ? *other : plan;
    arrays.make_room(plan, work, attempt);
    attempt.run([&] { arrays.begin(work, true); });
    if (attempt.ok()) compute_on_devices(used, work, attempt);
    if (work.finish) attempt.run(work.finish);
    const Ballot decided = vote(attempt, plan, work);
    if (decided.outcome == Outcome::success) {
      arrays.commit(work, true);
      if (moves) work.take_back(used);
      verdict = verdict_of_tiles(used.tiles());
      if (!other) timers.record(plan, true, seconds);
      return true;
    }
    Attempt restored;
    if (prepared) restored.run(work.restore);
    if (decided.outcome != Outcome::device_failed) {
      for (const detail::ArrayAccess& access : work.arrays) access.array->free_uncommitted();
      end_pass(attempt, decided);
    }
    Attempt rescue;
    const auto lost = arrays.copy_all_to_hosts(rescue);
    for (const Verdict::Failure& failure : rescue.device_failures()) attempt.device_failed(failure);
    const bool goes_on = exclude(attempt);
    if (lost) arrays.roll_back();
    if (!goes_on) {
      arrays.free_on_devices();
      fall_back(decided.failure);
    }
    if (lost) throw_rolled_back(*lost);
    attempt = restored;
    if (!goes_on) return false;
  }
}

void Job::run_alive(FunctionRef<void()> work) {
  State& its = state();
  its.require_thread();
  if (!work) refuse("Job::run_alive needs a function, but the function is empty: give a function");
  // Polls here too, because `work` may end before the first progress callback.
  if (its.options.stop != nullptr) its.options.stop->poll();
  its.team().for_each_block({0, 1}, 1, [&](int, Range) { checked_call(work); });
}

void Job::prefer_huge_pages(void* memory, std::size_t bytes) noexcept {
  base::prefer_huge_pages(memory, bytes);
}

void Job::run(const Plan& plan, const Pass& pass) {
  State& state = this->state();
  state.require_thread();
  state.refuse_if_gpu_is_required();
  if (state.options.stop != nullptr) state.options.stop->poll();
  state.stop_if_agreed();
  ++state.pass;
  if (state.faults.hit(fault::Stage::stop, std::nullopt, state.pass)) (void)std::raise(SIGSTOP);
  if (state.faults.hit(fault::Stage::signal, std::nullopt, state.pass)) (void)std::raise(SIGUSR1);
  if (state.faults.hit(fault::Stage::kill, std::nullopt, state.pass)) (void)std::raise(SIGKILL);
  const TraceRange range("pass", state.pass);
  state.verdict.ran = Verdict::Ran::none;  // until the vote
  state.verdict.reason = "the pass ended before its vote";
  const bool on_devices = !pass.host_only && state.runs_on_devices(plan);
  const DeviceTurn turn(state);

  Attempt attempt;
  attempt.run([&] {
    state.check_call(plan, pass, on_devices);
    state.arrays.check(plan, pass.arrays);
    pass.prepare();
  });
  if (on_devices && state.run_on_devices(plan, pass, attempt)) return;
  if (pass.host_only && !state.on_host() && !pass.arrays.empty()) state.copy_to_hosts(plan, pass, attempt);

  attempt.run([&] {
    const TraceRange host("host");
    const Range mine = local_range(plan);
    state.arrays.begin(pass, false);
    const auto start = std::chrono::steady_clock::now();
    if (!compute_on_host(mine, plan.block(), state.team(), pass.on_host, state.options.stop))
      attempt.cut_short();
    state.seconds.assign(mine.empty() ? 0 : 1, seconds_since(start));
  });
  if (pass.finish) attempt.run(pass.finish);
  const Ballot decided = state.vote(attempt, plan, pass);
  if (decided.outcome != Outcome::success) state.end_pass(attempt, decided);
  state.arrays.commit(pass, false);
  state.verdict = state.verdict_of_host(plan, pass);
  // Skips host-only passes over a plan for devices, because balancers need the times of devices.
  if (!state.runs_on_devices(plan)) state.timers.record(plan, false, state.seconds);
}

}  // namespace TESSERA_NAMESPACE
