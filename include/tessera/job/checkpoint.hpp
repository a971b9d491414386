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

namespace TESSERA_NAMESPACE {

/// Names and values that identify a job: everything that affects its result (the input, the options of the
/// method), and nothing about how it is computed (ranks, devices, plan).
using Fingerprint = std::vector<std::pair<std::string, std::string>>;

/// Saves a small state of a long job in a file, from which a restart of the same job resumes:
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
/// Only rank 0 reads and writes files. FILE, the path of the checkpoint, has the last state; FILE.previous
/// has the state before it. A state is replaced atomically, and is on disk when `save` returns. Each file has
/// a format version, the fingerprint, and a checksum of its whole content. A file that is corrupt, truncated,
/// of another fingerprint, or of a newer format is never used: `remarks` names it, and FILE.previous is used
/// if it is valid.
///
/// *Other files.* Files named FILE.previous, FILE.generation-N and FILE.generation-N.TOKEN.new belong to the
/// checkpoint, but are replaced or removed only if their content shows that a checkpoint has written them.
/// Other files with these names stay, and `remarks` names them; if FILE.previous is such a file, only the
/// last state is kept.
///
/// *Concurrent starts of one job.* A batch system may start a job again while ranks of an earlier start still
/// run on a node with which it has lost contact. Each start therefore takes the next generation number N by
/// creating FILE.generation-N exclusively. The file is a symbolic link whose target is its content, so that
/// name and content appear at once; it is a regular file if the file system has no symbolic links. The start
/// then removes the temporary files of older starts, so that the renames of their unfinished saves fail. Each
/// `save` writes a temporary file, and then checks that its generation is the newest; if not, it throws and
/// replaces nothing.
///
/// This works on a local disk, and on a shared file system on which exclusive creation, rename and removal
/// are atomic at the server, and a client lists a folder correctly after changing it (NFS version 3 and 4,
/// Lustre, GPFS, BeeGFS). It needs no lock, which could outlive its owner, and no synchronised clocks. The
/// destructor removes the file of its generation.
///
/// All members that are marked *Collective* throw the same `Error` on every rank. Not thread-safe: call from
/// the thread that calls MPI.
class TESSERA_EXPORT Checkpoint {
 public:
  /// *Collective.* Takes the next generation, and reads the saved state. Throws `Error(input)`, and changes
  /// nothing, if no file is valid, and one has another fingerprint (the message says what differs) or a newer
  /// format, or is not a checkpoint. Also throws `Error(input)` if the folder cannot be
  /// read or written. Cost: a few milliseconds for the file system, and a broadcast.
  Checkpoint(const mpi::Communicator& comm, std::string path, Fingerprint fingerprint);
  ~Checkpoint();
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;

  /// The saved state, the same on every rank; empty if no valid state was found.
  [[nodiscard]] const std::optional<std::string>& state() const noexcept;
  /// A line for each file that was not used, with the reason, and a line about other files that have names of
  /// the checkpoint. The same on every rank.
  [[nodiscard]] std::span<const std::string> remarks() const noexcept;
  /// The number of this start, from 1: one more than the number of the last start whose files were found.
  [[nodiscard]] std::int64_t generation() const noexcept;
  [[nodiscard]] const std::string& path() const noexcept;

  /// *Collective.* Replaces the saved state by rank 0's `state`. Returns an empty string on success. If the
  /// state could not be saved (for example, to a full disk), returns one line with file and reason, the same
  /// on every rank; the previous state is then intact, and `save` may be called again. Also returns a line if
  /// the state is in FILE, but may not survive a power failure, because the folder could not be flushed to
  /// disk; `is_saved` is then true. Throws `Error(job_fault)` if a later start of the job has taken over:
  /// nothing was replaced, and this job should end. Cost: two flushes to disk on rank 0, and a broadcast.
  [[nodiscard]] std::string save(std::string_view state);

  /// Whether the last `save` has replaced the state, the same on every rank.
  [[nodiscard]] bool is_saved() const noexcept;

  /// *Collective.* Removes all files of the checkpoint, unless a later start has taken over. Call it when the
  /// result is safe. Does not throw.
  void remove() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace TESSERA_NAMESPACE
