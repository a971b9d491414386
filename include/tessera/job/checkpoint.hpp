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

/// Identifies the job that a state belongs to, as names and values: everything that affects the answer (the
/// input, the options of the method), and nothing about how it is computed (ranks, devices, plan).
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
/// Only rank 0 reads and writes files: FILE has the last state, FILE.previous the state before it. A state
/// is replaced atomically, and is on disk when `save` returns. Each file has a format version, the
/// fingerprint, and a checksum of its whole content. A file that is corrupt, truncated, of another
/// fingerprint, or of a newer format is never used: `remarks` names it, and FILE.previous is used if it is
/// valid.
///
/// *Other files.* Files named FILE.previous, FILE.generation-N and FILE.generation-N.TOKEN.new belong to the
/// checkpoint, but are replaced or removed only if their content shows that a checkpoint has written them.
/// Foreign files under these names stay, and `remarks` names them; if FILE.previous is a foreign file, only
/// the last state is kept.
///
/// *Concurrent starts of one job.* A batch system may requeue a job while ranks of an earlier start still run
/// on a node that it has lost contact with. Each start therefore takes the next generation by creating
/// FILE.generation-N exclusively (a symbolic link whose target holds the content, so that both appear at
/// once; a regular file where there are no symbolic links), and makes unfinished saves of older starts fail:
/// it removes their temporary files, so that their renames have no effect. Each `save`, once its temporary
/// file is written, checks that its generation is the newest; if it is not, `save` throws and replaces
/// nothing. This holds on a local disk, and on a shared file system where exclusive creation, rename and
/// removal are atomic at the server, and a client lists a folder correctly after changing it (NFS version 3
/// and 4, Lustre, GPFS, BeeGFS). There is no lock that could outlive its owner, and no clock is compared. The
/// destructor gives up the generation and removes its file.
///
/// All members that are marked *Collective* throw the same `Error` on every rank. Not thread-safe: call from
/// the thread that calls MPI.
class TESSERA_EXPORT Checkpoint {
 public:
  /// *Collective.* Takes the next generation, and reads the saved state. Throws `Error(input)`, and changes
  /// nothing, if no file is valid and one has another fingerprint (the message says what differs) or a newer
  /// format, or is not a checkpoint. Throws `Error(input)` too if the folder cannot be read or written. Cost:
  /// a few milliseconds for the file system, and a broadcast.
  Checkpoint(const mpi::Communicator& comm, std::string path, Fingerprint fingerprint);
  ~Checkpoint();
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;

  /// The saved state, the same on every rank; empty if there is none and the job starts from the beginning.
  [[nodiscard]] const std::optional<std::string>& state() const noexcept;
  /// A line for each file that was not used, with the reason, and a line with foreign files under the
  /// checkpoint's names. The same on every rank.
  [[nodiscard]] std::span<const std::string> remarks() const noexcept;
  /// The number of this start, from 1: one more than the number of the last start whose files were found.
  [[nodiscard]] std::int64_t generation() const noexcept;
  [[nodiscard]] const std::string& path() const noexcept;

  /// *Collective.* Replaces the saved state by rank 0's `state`. Returns an empty string, or one line with
  /// file and reason, the same on every rank, if the state could not be saved (a full disk, say): the
  /// previous state is then intact, and `save` may be called again. It also returns a line if the state is in
  /// FILE, but may not survive a power failure, because the folder could not be flushed to disk: `is_saved`
  /// is true then. Throws `Error(job_fault)` if a later start has taken over: nothing was replaced, and this
  /// job should end. Cost: two flushes to disk on rank 0, and a broadcast.
  [[nodiscard]] std::string save(std::string_view state);

  /// Whether the last `save` has replaced the state, the same on every rank.
  [[nodiscard]] bool is_saved() const noexcept;

  /// *Collective.* Removes all files of the checkpoint, once the result is safe, unless a later start has
  /// taken over. Does not throw.
  void remove() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace TESSERA_NAMESPACE
