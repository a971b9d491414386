// SPDX-License-Identifier: Apache-2.0
#include "device/context_access.hpp"
#include "device/cuda_calls.hpp"
#include "job/job_access.hpp"
#include "job/score/measured_scores.hpp"
#include "job/state.hpp"
#include "mpi/exception_message.hpp"
#include "mpi/time_limit.hpp"
#include "topology/linux/host_identity.hpp"

#include <tessera/device/trace.hpp>
#include <tessera/error.hpp>
#include <tessera/job/device_turn.hpp>
#include <tessera/topology/memory_shortage.hpp>

#include <algorithm>
#include <array>
#include <bit>

namespace TESSERA_NAMESPACE {
namespace {

bool measures_on_host(const JobOptions& options) {
  return options.score_model == ScoreModel::measured && options.measure_on_host;
}

void check(const JobOptions& options, const mpi::Communicator& comm) {
  if (options.threads < 0)
    throw Error(ErrorCode::usage, "JobOptions::threads is " + std::to_string(options.threads) +
                                      ": give a number of threads, or 0 for the cores of this rank");
  if (!(options.memory_fraction > 0) || options.memory_fraction > 1)
    throw Error(ErrorCode::usage, "JobOptions::memory_fraction is " +
                                      std::to_string(options.memory_fraction) +
                                      ": give a fraction of the device memory, above 0 and at most 1");
  if (options.parts_in_flight < 1 || options.parts_in_flight > 8)
    throw Error(ErrorCode::usage, "JobOptions::parts_in_flight is " +
                                      std::to_string(options.parts_in_flight) +
                                      ": give a number from 1 to 8");
  if (options.collective_timeout.count() < 0)
    throw Error(ErrorCode::usage,
                "JobOptions::collective_timeout is negative: give a positive time, or 0 for no limit");
  if (options.hosts && !measures_on_host(options))
    throw Error(ErrorCode::usage,
                "JobOptions::hosts needs ScoreModel::measured and JobOptions::measure_on_host to compare "
                "hosts with GPUs: set both");
  if (options.score_model == ScoreModel::measured && !options.measure)
    throw Error(ErrorCode::usage, "ScoreModel::measured needs work to time: set JobOptions::measure");
  if (options.stop != nullptr && !detail::JobAccess::have_same_ranks(*options.stop, comm))
    throw Error(ErrorCode::usage,
                "JobOptions::stop has other ranks than the job: create the StopRequest with the communicator "
                "of the job");
}

/// Records the current exception for the vote: an `Error(usage)` is fatal, others are device failures.
/// `stage` must fit std::string's internal buffer, to avoid an allocation. Returns the reason why this rank
/// has no device.
Absence record_failure(Attempt& attempt, const char* stage, int device, std::string uuid) noexcept {
  const std::exception_ptr thrown = std::current_exception();
  Absence absence{Absence::Reason::driver_error, reason_of(thrown)};
  try {
    std::rethrow_exception(thrown);
  } catch (const fault::Injected&) {
    absence.reason = Absence::Reason::fault;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::usage) attempt.fatal(thrown);
  } catch (...) {
    // A device failure, recorded below.
  }
  attempt.device_failed({.rank = 0,
                         .hostname = {},
                         .device = device,
                         .uuid = std::move(uuid),
                         .stage = stage,
                         .reason = reason_of(thrown)});
  return absence;
}

Probe probe_rank(const mpi::Communicator& comm, const JobOptions& options, const fault::Faults& faults,
                 Attempt& attempt) {
  const TraceRange range("probe");
  const mpi::detail::TimeLimit limit(comm, "the discovery of the hardware");
  Probe here;
  int device = 0;
  try {
    if (options.policy == Policy::cpu) {
      here.host = probe_host();
      here.absence = {Absence::Reason::excluded, "the policy is cpu"};
      return here;
    }
    // The rank in MPI_COMM_WORLD, so that simulated devices do not depend on the communicator.
    here = probe(mpi::detail::CommunicatorAccess::rank_in_world(comm));
    for (ProbedDevice& seen : here.devices) seen.info.memory_fraction = options.memory_fraction;
    if (!here.devices.empty() && detail::ContextAccess::were_opened_before_fork())
      throw Error(ErrorCode::usage,
                  "this process was forked by one that has used a GPU, and CUDA does not work in it: start "
                  "processes by spawn instead of fork (Python: multiprocessing.get_context(\"spawn\"); R: "
                  "parallel::makePSOCKcluster), or choose the CPU (Policy::cpu, --device cpu)");
    do faults.throw_if_hit(fault::Stage::probe, device, 0);
    while (++device < static_cast<int>(here.devices.size()));
  } catch (...) {
    here.devices.clear();
    here.absence = record_failure(attempt, "probe", device, "");
    if (here.host.hostname.empty()) here.host.hostname = detail::this_hostname();
  }
  return here;
}

Claim claim_devices(const mpi::Communicator& comm, const Probe& here, bool allow_sharing) {
  const TraceRange range("claim");
  const mpi::Purpose purpose(comm, "the claim of devices");
  return claim(comm, here, allow_sharing);
}

Inventory share_inventory(const mpi::Communicator& comm, const Probe& here, const Claim& mine,
                          std::span<const std::uint64_t> scores) {
  const TraceRange range("inventory");
  const mpi::Purpose purpose(comm, "the inventory");
  return gather_inventory(comm, here, mine, scores);
}

Ordinal ordinal_of(const DeviceInfo& device, int claim_index, const detail::CudaVisibility& visibility) {
  if (device.simulated) return Ordinal{claim_index};
  if (const auto ordinal = visibility.ordinal_of(device)) return *ordinal;
  return cuda::find_ordinal(device.uuid);
}

/// The claimed devices with CUDA indices, without scores. Drops inaccessible devices.
std::vector<DevicePool::Entry> find_claimed(const mpi::Communicator& comm, Claim& mine,
                                            std::optional<detail::CudaVisibility>& visibility,
                                            const fault::Faults& faults, Attempt& attempt) {
  const mpi::detail::TimeLimit limit(comm, "the search for its devices");
  std::vector<DevicePool::Entry> entries;
  std::vector<ClaimedDevice> found;
  std::optional<Absence> absence;
  for (int device = 0; device < static_cast<int>(mine.devices.size()); ++device) {
    const ClaimedDevice& claimed = mine.devices[static_cast<std::size_t>(device)];
    try {
      if (!visibility) visibility.emplace(mine);
      faults.throw_if_hit(fault::Stage::claim, device, 0);
      DevicePool::Entry entry;
      entry.info = claimed.info;
      entry.claim_index = static_cast<int>(entries.size());
      entry.ordinal = ordinal_of(claimed.info, entry.claim_index, *visibility);
      found.push_back(claimed);
      entries.push_back(std::move(entry));
    } catch (...) {
      absence = record_failure(attempt, "claim", device, to_string(claimed.info.uuid));
    }
  }
  mine.devices = std::move(found);
  if (mine.devices.empty() && absence) mine.absence = std::move(absence);
  return entries;
}

/// *Collective.* Whether hosts compute in addition to GPUs.
bool hosts_take_part(const mpi::Communicator& comm, const Claim& mine, const JobOptions& options) {
  const bool wanted = options.hosts && options.policy != Policy::cpu && measures_on_host(options);
  // An allreduce, because options may differ between ranks until the vote has compared them.
  std::array<std::int32_t, 2> found = {wanted ? 0 : 1, mine.devices.empty() ? 0 : 1};
  comm.allreduce(std::span<std::int32_t>(found), mpi::Reduction::max);
  return found[0] == 0 && found[1] != 0;
}

/// *Collective.* Adds the host to this rank's devices.
PassThreads add_host(const mpi::Communicator& comm, const Probe& here, const JobOptions& options, Claim& mine,
                     std::vector<DevicePool::Entry>& entries) {
  constexpr std::int64_t all_memory = std::int64_t{1} << 50;  // more than any node has
  const std::vector<std::uint64_t> no_scores(mine.devices.size());
  const Inventory gpus = share_inventory(comm, here, mine, no_scores);
  const int host_threads =
      choose_threads(options.threads, gpus.ranks()[static_cast<std::size_t>(comm.rank())]).count;
  DevicePool::Entry entry;
  entry.info.host = true;
  entry.info.name = here.host.cpu_model.empty() ? "CPU" : here.host.cpu_model;
  entry.info.total_memory_bytes = share_memory(comm, all_memory).bytes;
  entry.info.free_memory_bytes = entry.info.total_memory_bytes;
  entry.info.memory_fraction = options.memory_fraction;
  entry.ordinal = Ordinal{-1};
  entry.claim_index = static_cast<int>(entries.size());
  mine.devices.push_back({.info = entry.info});
  entries.push_back(std::move(entry));
  return PassThreads::with_gpus(entries.back().claim_index, host_threads);
}

/// *Collective.* A score for each claimed device.
std::vector<std::uint64_t> score_devices(const mpi::Communicator& comm, const Claim& mine,
                                         PassThreads threads, const JobOptions& options,
                                         const fault::Faults& faults, Attempt& attempt,
                                         FunctionRef<void()> progress) {
  // *Collective*, because timed runs must start together, and options may differ between ranks until the
  // vote.
  const Measurable can = measurable(comm, mine.devices, options);
  if (can == Measurable::yes) return measure(comm, mine.devices, threads, options, faults, attempt, progress);
  std::vector<std::uint64_t> scores(mine.devices.size());
  if (can == Measurable::mixed)
    attempt.run([] {
      throw Misuse(
          "ScoreModel::measured cannot compare real devices, which are timed, with simulated devices, which "
          "have declared scores: set JobOptions::measure_on_host to time the simulated devices too");
    });
  if (options.score_model == ScoreModel::measured) return scores;
  try {  // even after a failure, because the job may continue without the failed device
    std::ranges::transform(mine.devices, scores.begin(), [&](const ClaimedDevice& device) {
      return score(device.info, options.score_model);
    });
  } catch (...) {
    attempt.fatal(std::current_exception());
  }
  return scores;
}

std::vector<int> gather_threads(const mpi::Communicator& comm, int mine) {
  const mpi::Purpose purpose(comm, "the inventory of threads");
  return comm.allgather(mine);
}

/// The options that must be equal on all ranks, one per line.
std::string described(const JobOptions& options) {
  return "policy " + std::string(to_string(options.policy)) + "\na device's failure leads to " +
         std::string(to_string(options.on_device_failure)) +
         (options.may_move_units ? "\nunits may move" : "\nunits may not move") + "\nscore model " +
         std::to_string(static_cast<int>(options.score_model)) + '\n' +
         (options.allow_sharing ? "sharing" : "no sharing") + "\nfraction of device memory " +
         std::to_string(options.memory_fraction) + "\nparts in flight " +
         std::to_string(options.parts_in_flight) + "\ncollective timeout " +
         std::to_string(options.collective_timeout.count()) + " ms\n" +
         (options.stop != nullptr ? "a stop request" : "no stop request") + '\n' +
         (measures_on_host(options) ? "a measure on the host" : "no measure on the host") + '\n' +
         (options.hosts ? "hosts beside GPUs" : "no hosts beside GPUs");
}

/// Why the job has no device, equal on all ranks.
std::string absence_of(const Inventory& inventory) {
  if (!inventory.devices().empty()) return {};
  const InventoryRank& first = inventory.ranks().front();
  const bool all_alike = std::ranges::all_of(
      inventory.ranks(), [&](const InventoryRank& rank) { return rank.absence == first.absence; });
  return all_alike ? first.absence : "rank 0 (" + first.hostname + "): " + first.absence;
}

}  // namespace

void Job::State::set_up() {
  Attempt attempt;
  attempt.run([&] {
    check(options, comm);
    faults = fault::Faults::from_environment(comm.rank());
  });
  const Probe here = probe_rank(comm, options, faults, attempt);
  broken = here.broken;
  Claim mine = claim_devices(comm, here, options.allow_sharing);
  auto entries = find_claimed(comm, mine, visibility, faults, attempt);
  pass_threads.gpus = static_cast<int>(entries.size());
  if (hosts_take_part(comm, mine, options)) {
    pass_threads = add_host(comm, here, options, mine, entries);
    tile_team.emplace(pass_threads.host);
  }
  const DeviceTurn turn(*this);
  claim = mine.turns;
  if (options.score_model == ScoreModel::measured) begin_turn();
  const auto scores =
      score_devices(comm, mine, pass_threads, options, faults, attempt, [this] { report_progress(); });
  inventory = share_inventory(comm, here, mine, scores);

  const TraceRange range("vote");
  const Ballot decided =
      ballots.vote(attempt.ballot(),
                   signature_of({static_cast<int>(options.policy), static_cast<int>(options.score_model),
                                 options.allow_sharing ? 1 : 0, options.collective_timeout.count(),
                                 options.stop != nullptr ? 1 : 0, measures_on_host(options) ? 1 : 0,
                                 static_cast<int>(options.on_device_failure), options.may_move_units ? 1 : 0,
                                 options.hosts ? 1 : 0, std::bit_cast<std::int64_t>(options.memory_fraction),
                                 options.parts_in_flight}),
                   inventory, "the vote on the hardware", [&] { return described(options); });
  if (decided.outcome == Outcome::misuse || decided.outcome == Outcome::fatal ||
      decided.outcome == Outcome::disagreement)
    attempt.end(
        decided, "the setting up of the job",
        "the ranks have different job options: give every rank the same policy, on_device_failure, "
        "may_move_units, score_model, allow_sharing, memory_fraction, parts_in_flight, collective_timeout "
        "and hosts, and set stop, measure and measure_on_host on all ranks or on none");
  threads = choose_threads(options.threads, inventory.ranks()[static_cast<std::size_t>(comm.rank())]);
  threads_of_ranks = gather_threads(comm, threads.count);
  absence = absence_of(inventory);
  const bool failed = decided.outcome == Outcome::device_failed && !exclude(attempt);
  plans_for_hosts = failed || !absence.empty();

  if (plans_for_hosts) claim.reset();
  if (failed) {
    fall_back(decided.failure);
    verdict = verdict_of_host();
  } else if (!absence.empty()) {
    if (options.policy == Policy::gpu)
      throw Error(ErrorCode::device_absent, "a GPU is required, but no GPU can be used: " + absence);
    verdict = verdict_of_host();
  } else {
    // The inventory has divided the scores of shared devices among the sharers.
    for (auto& entry : entries) {
      entry.score = inventory.devices_of(comm.rank())[static_cast<std::size_t>(entry.claim_index)].score;
    }
    device_locks = std::move(mine.locks);
    pool = DevicePool(std::move(entries), modules);
    exclude_from_pool();
    buffers = DeviceBufferPools(pool);
    lanes.resize(pool.size() * static_cast<std::size_t>(options.parts_in_flight));
    for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i].number = static_cast<int>(i / pool.size());
    // Simulated devices and the host compute on the host's cores.
    const bool on_cores =
        std::ranges::any_of(inventory.devices_of(comm.rank()), &InventoryDevice::has_host_memory);
    device_threads.emplace(lanes.size(),
                           on_cores ? ParkedThread::host_patience : ParkedThread::device_patience);
    const auto hosts = std::ranges::count(inventory.devices(), true, &InventoryDevice::host);
    const auto left = std::ranges::count(inventory.devices(), false, &InventoryDevice::excluded);
    verdict = verdict_of_devices(inventory.gpus(), static_cast<int>(left - hosts), static_cast<int>(hosts));
  }
}

}  // namespace TESSERA_NAMESPACE
