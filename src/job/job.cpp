// SPDX-License-Identifier: Apache-2.0
#include <tessera/job/job.hpp>

#include "job/state.hpp"

#include <utility>

namespace tessera {

std::string_view to_string(Policy policy) {
  switch (policy) {
    case Policy::automatic: return "auto";
    case Policy::gpu: return "gpu";
    case Policy::cpu: return "cpu";
  }
  return {};
}

Job::Job(const mpi::Communicator& comm, JobOptions options) {
  const mpi::Purpose purpose(comm, "the making of the job");
  state_ = std::make_unique<State>(comm, std::move(options));
  state_->set_up();
}
Job::~Job() = default;
Job::Job(Job&&) noexcept = default;
Job& Job::operator=(Job&&) noexcept = default;

const mpi::Communicator& Job::comm() const noexcept {
  return state_->comm;
}
const Inventory& Job::inventory() const noexcept {
  return state_->inventory;
}
DevicePool& Job::devices() noexcept {
  // Those of the pool stay open: what an application keeps on them is still to be given up in order.
  return state_->lost ? state_->no_devices : state_->pool;
}
BufferPools& Job::buffers() noexcept {
  return state_->buffers;
}
DeviceCollectives Job::collectives() {
  if (!state_->collectives) {
    CollectiveParts parts;
    parts.comm = &state_->comm;
    parts.inventory = &state_->inventory;
    parts.pool = &state_->pool;
    parts.faults = &state_->faults;
    parts.timeout = state_->comm.timeout();
    state_->collectives.emplace(std::move(parts));
    if (state_->lost) state_->collectives->close();
  }
  return DeviceCollectives(*state_->collectives);
}
ModuleCache& Job::modules() noexcept {
  return *state_->modules;
}
int Job::threads() const noexcept {
  return state_->threads.count;
}
const HostThreads& Job::host_threads() const noexcept {
  return state_->threads;
}

Plan Job::plan(std::int64_t units, std::int64_t block) const {
  return state_->plans_for_hosts ? plan_for_hosts(units, block) : inventory().plan(units, block);
}
Plan Job::plan_for_hosts(std::int64_t units, std::int64_t block) const {
  return Plan::over_hosts(units, state_->threads_of_ranks, block);
}

bool Job::on_host() const noexcept {
  return state_->lost || inventory().devices().empty();
}
const Verdict& Job::last_verdict() const noexcept {
  return state_->verdict;
}

}  // namespace tessera
