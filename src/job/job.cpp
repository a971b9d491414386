// SPDX-License-Identifier: Apache-2.0
#include <tessera/job/job.hpp>

#include "job/state.hpp"
#include "mpi/fork.hpp"

#include <atomic>

namespace TESSERA_NAMESPACE {
namespace {

/// *Collective.* Equal on all ranks, and higher than the numbers of earlier jobs.
int next_number(const mpi::Communicator& comm) {
  static std::atomic<int> jobs = 0;
  if (comm.is_serial()) return ++jobs;
  return jobs = comm.allreduce(jobs + 1, mpi::Reduction::max);
}

}  // namespace

std::string_view to_string(Policy policy) {
  switch (policy) {
    case Policy::automatic: return "auto";
    case Policy::gpu: return "gpu";
    case Policy::cpu: return "cpu";
  }
  return {};
}

std::string_view to_string(OnDeviceFailure action) {
  switch (action) {
    case OnDeviceFailure::cpu: return "cpu";
    case OnDeviceFailure::error: return "error";
    case OnDeviceFailure::exclude: return "exclude";
  }
  return {};
}

Job::Job(const mpi::Communicator& comm, JobOptions options) {
  mpi::detail::CommunicatorAccess::require_threads(comm);  // a job starts threads
  const mpi::Purpose purpose(comm, "the making of the job");
  state_ = std::make_unique<State>(comm, std::move(options));
  state_->set_up();
  state_->number = next_number(state_->comm);
}
Job::State& Job::state() const {
  return *state_;
}
Job::~Job() {
  // Leaks the state in a forked child, which lacks the job's threads. The destructor could affect the parent.
  if (state_ && state_->forks != mpi::detail::forks()) (void)state_.take().release();
}
Job::Job(Job&&) noexcept = default;
Job& Job::operator=(Job&& other) noexcept {
  Job old(std::move(other));
  std::swap(state_, old.state_);
  return *this;
}

const mpi::Communicator& Job::comm() const {
  return state().comm;
}
const JobOptions& Job::options() const {
  return state().options;
}
const Inventory& Job::inventory() const {
  return state().inventory;
}
DevicePool& Job::devices() {
  // After a fallback, `pool` keeps devices open, so that the application can release its data on them.
  return state().fallback_cause ? state().no_devices : state().pool;
}
DeviceBufferPools& Job::buffers() {
  return state().buffers;
}
DeviceCollectives Job::collectives() {
  State& its = state();
  its.require_thread();
  if (!its.collectives) {
    CollectiveParts parts;
    parts.comm = &its.comm;
    parts.inventory = &its.inventory;
    parts.pool = &its.pool;
    parts.faults = &its.faults;
    parts.begin_turn = [state = &its] { return state->turn_of_call(); };
    parts.timeout = its.comm.timeout();
    its.collectives.emplace(std::move(parts));
    if (its.fallback_cause) its.collectives->close();
  }
  return its.collectives->view();
}
ModuleCache& Job::modules() {
  return *state().modules;
}
int Job::threads() const {
  return state().threads.count;
}
HostTeam& Job::host_team() const {
  return state().team();
}
const HostThreads& Job::host_threads() const {
  return state().threads;
}

Plan Job::plan(std::int64_t units, const PlanOptions& options) const {
  const State& its = state();
  if (its.plans_for_hosts) return plan_for_hosts(units, options);
  return (its.planned_for ? *its.planned_for : its.inventory).plan(units, options);
}
Plan Job::plan_for_hosts(std::int64_t units, const PlanOptions& options) const {
  return Plan::over_hosts(units, state().threads_of_ranks, options);
}

bool Job::on_host() const {
  return state().on_host();
}
bool Job::runs_on_devices(const Plan& plan) const {
  return state().runs_on_devices(plan);
}
const Verdict& Job::last_verdict() const {
  return state().verdict;
}

}  // namespace TESSERA_NAMESPACE
