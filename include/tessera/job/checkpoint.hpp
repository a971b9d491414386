// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::inline TESSERA_ABI {

/// What a state belongs to, as names and values: everything that changes the answer (the input, the options
/// of the method), and nothing of how it is computed (ranks, devices, plan).
using Fingerprint = std::vector<std::pair<std::string, std::string>>;

/// Keeps one small state of a long job in a file, so that another start of the same job goes on from it:
///
///     tessera::Checkpoint checkpoint(session.world(), "job.ckpt", {{"input", path}, {"steps", "100"}});
///     State state = checkpoint.state() ? unpacked(*checkpoint.state()) : State{};
///     while (!state.done()) {
///       step(job, state);
///       if (const std::string problem = checkpoint.save(packed(state)); !problem.empty()) warn(problem);
///     }
///     write_answer(state);
///     checkpoint.remove();
///
/// Rank 0 alone reads and writes: FILE, and FILE.previous, the state before it. A state replaces the one
/// before whole or not at all, and has reached the disk when `save` returns. Every file carries a format
/// version, the fingerprint and a checksum over all of it. A file that is torn, cut short, of another
/// fingerprint, or of a newer format is never used: `remarks` names it, and FILE.previous is used if it
/// serves.
///
/// *Two starts of one job at once.* A batch system may requeue a job while ranks of its former start still
/// run on a node that it lost sight of. Each start therefore takes the next generation by creating
/// FILE.generation-N exclusively, and what older ones have under way is made to fail: the later start removes
/// their temporary files, and a rename of what is gone does nothing. Each `save` looks, once its temporary
/// file is written, whether its generation is the newest; if not, it throws and replaces nothing. That holds
/// on a local disk, and on a shared file system where exclusive creation, rename and removal are atomic at
/// the server, and a listing of a folder that the same client has just changed is fresh (NFS version 3 and 4,
/// Lustre, GPFS, BeeGFS). No lock is taken that could outlive its owner, and no clock is compared. The
/// generation is given up, and its file removed, when the object ends.
///
/// All members that are marked *Collective* throw the same `Error` on every rank. Not thread-safe: call from
/// the thread that calls MPI.
class TESSERA_EXPORT Checkpoint {
 public:
  /// *Collective.* Takes the next generation, and reads the state that is there. Throws `Error(input)` if
  /// there is a file, but none that serves and one of another fingerprint (the message names what differs),
  /// of a newer format, or that is no checkpoint; nothing is changed then. Throws `Error(input)` too if the
  /// folder cannot be read or written. Cost: a few milliseconds of the file system, and a broadcast.
  Checkpoint(const mpi::Communicator& comm, std::string path, Fingerprint fingerprint);
  ~Checkpoint();
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;

  /// The state that was found, the same on every rank; nothing if the job starts from the beginning.
  [[nodiscard]] const std::optional<std::string>& state() const noexcept;
  /// What was refused and why, a line each, the same on every rank.
  [[nodiscard]] std::span<const std::string> remarks() const noexcept;
  /// Counts the starts that found each other's files, from 1.
  [[nodiscard]] std::int64_t generation() const noexcept;
  [[nodiscard]] const std::string& path() const noexcept;

  /// *Collective.* Replaces the state by rank 0's `state`. Returns an empty text, or the problem in one line,
  /// with file and reason (a full disk), the same on every rank: the state before is intact then, and another
  /// save may be tried. Throws `Error(job_fault)` if a later start has taken over: nothing was replaced, and
  /// this job should end. Cost: two flushes to the disk on rank 0, and a broadcast.
  [[nodiscard]] std::string save(std::string_view state);

  /// *Collective.* Removes all files of the checkpoint, once there is an answer; leaves them if a later start
  /// has taken over. Does not throw.
  void remove() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::inline TESSERA_ABI
