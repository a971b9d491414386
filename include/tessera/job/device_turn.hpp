// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/job.hpp>
#include <tessera/version.hpp>

namespace TESSERA_NAMESPACE {

/// Keeps a job's turn (its exclusive use of its devices) from one pass to the next.
///
///     const tessera::DeviceTurn turn(job);      // waits for nothing yet
///     for (int step = 0; step < steps; ++step)
///       job.update(…);                          // the first waits for the turn, the others have it
///
/// Jobs of serial communicators in one process claim the same devices (<tessera/topology/claim.hpp>), and
/// take turns on them, in the order of their requests: functions of two such jobs never run on one device at
/// the same time. A turn begins with the first pass, download or device collective that needs the devices,
/// and ends with that call, or, within the life of a `DeviceTurn`, with the end of the last such object. A
/// turn thus lasts as long as data must stay on the devices: a pass, or a whole fit of `tessera::gam`, which
/// keeps its columns there. An idle job does not make other jobs wait. A stop request (`JobOptions::stop`)
/// ends the wait for a turn: the job throws `Error(interrupted)` within 50 ms.
///
/// *Memory*: each job may use its whole memory budget in its turn. At the end of the turn, if another job
/// has claimed the devices, the arrays of the job are copied to the host, and their memory on the devices is
/// released with the job's caches; leases of the application are not affected. A job without such
/// competitors keeps its arrays on the devices; until its next turn, a new job's budget is reduced to the
/// remaining memory.
///
/// *No deadlock*: passes on the CPU need no turn, nor does the construction of jobs (except with
/// `ScoreModel::measured`) and of arrays. A call that would wait for a job's turn, on a thread that holds
/// another job's turn, throws `Error(usage)`. During a turn a thread must not wait for another thread that
/// needs a turn.
///
/// Jobs over MPI do not take turns: for them a `DeviceTurn` has no effect. Use it within the life of its job,
/// on the job's thread. The destructor copies arrays as described above, which blocks.
class TESSERA_EXPORT DeviceTurn {
 public:
  explicit DeviceTurn(Job& job);
  ~DeviceTurn();
  DeviceTurn(const DeviceTurn&) = delete;
  DeviceTurn& operator=(const DeviceTurn&) = delete;

  /// Waits for the turn now, for work on the devices outside of passes, such as copies that run concurrently
  /// with the hosts. Not collective. Throws `Error(interrupted)` if a stop is requested meanwhile.
  void begin();

 private:
  friend class Job;
  friend struct Job::State;
  explicit DeviceTurn(Job::State& state) noexcept;

  Job::State& state_;
};

}  // namespace TESSERA_NAMESPACE
