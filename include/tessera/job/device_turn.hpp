// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/job.hpp>
#include <tessera/version.hpp>

namespace TESSERA_NAMESPACE {

/// Keeps a job's turn (its exclusive use of its devices) from one pass to the next.
///
///     const tessera::DeviceTurn turn(job);      // waits for nothing yet
///     for (int step = 0; step < steps; ++step)
///       job.update(…);                          // only the first pass waits for the turn
///
/// Jobs over serial communicators (`mpi::Communicator::serial`) in one process claim the same devices
/// (<tessera/topology/claim.hpp>). They take turns on them, in the order of their requests: functions of two
/// such jobs never run on one device at the same time. A turn begins with the first pass, download or device
/// collective that needs the devices. It ends with that call or, during the lifetime of `DeviceTurn` objects,
/// with the destruction of the last of them. A turn thus lasts as long as data must stay on the devices: a
/// pass, or a whole fit of `tessera::gam`. An idle job does not make other jobs wait. A stop request
/// (`JobOptions::stop`) ends the wait for a turn: the job throws `Error(interrupted)` within 50 ms.
///
/// *Memory*: each job may use its whole memory budget in its turn. If another job has claimed the devices,
/// the end of the turn copies the job's arrays to the host, and releases their device memory and the job's
/// caches; memory leased by the application is not affected. If no other job has claimed the devices, the
/// arrays stay on them. A job that claims the devices later then has only the remaining memory as its budget,
/// until the end of the first job's next turn.
///
/// *No deadlock*: passes on the CPU need no turn, nor does the construction of jobs (except with
/// `ScoreModel::measured`) and of arrays. On a thread that holds the turn of one job, a call that would wait
/// for the turn of another job throws `Error(usage)`. During a turn a thread must not wait for another thread
/// that needs a turn.
///
/// Jobs over MPI do not take turns: for them a `DeviceTurn` has no effect. Use it within the lifetime of its
/// job, on the job's thread. The destructor copies arrays as described above, which blocks.
class TESSERA_EXPORT DeviceTurn {
 public:
  explicit DeviceTurn(Job& job);
  ~DeviceTurn();
  DeviceTurn(const DeviceTurn&) = delete;
  DeviceTurn& operator=(const DeviceTurn&) = delete;

  /// Waits for the turn. Needed before work on the devices outside of passes, such as copies that overlap
  /// with work on the host. Not collective. Throws `Error(interrupted)` if a stop is requested during
  /// the wait.
  void begin();

 private:
  friend class Job;
  friend struct Job::State;
  explicit DeviceTurn(Job::State& state) noexcept;

  Job::State& state_;
};

}  // namespace TESSERA_NAMESPACE
