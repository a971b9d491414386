// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/bytes/byte_source.hpp"

#include <tessera/error.hpp>
#include <tessera/mpi/communicator.hpp>

#include <string>
#include <string_view>

#include "files/input_file.hpp"

/// Every rank opens the files of the command line for itself, and none of them may be another's: a path can
/// lead to a new file from one moment to the next, and to one of its own on each node.
namespace tessera::gam {

/// *Collective.* Throws the same `Error(input)` on every rank, with two ranks and their nodes, unless all of
/// them have read the same content from `path`, by its checksum.
void require_same_content(const tessera::mpi::Communicator& comm, const std::string& path,
                          std::string_view checksum);

/// The table of a job: one content, which all ranks have open, and which stays as it is while they read it.
///
///     files::InputFile file(path);                       // on every rank
///     const SharedTable shared(comm, file);             // one table?
///     Frame frame = shared.read(comm, [&] { ... });     // and still the same at the end?
///
/// What is compared are the open files, and not what the path leads to by now: a table that is replaced by a
/// rename stays, for those who have it open, what it was.
class SharedTable {
 public:
  /// *Collective.* Throws the same `Error(input)` on every rank, with two ranks and their nodes, if they have
  /// opened different tables. `file` must stay. `between` is called while a copy is read, if one has to be.
  ///
  /// Cost: an allgather of 100 bytes. Where nodes have copies of their own, one rank for each copy reads all
  /// of it once more, for its CRC-32 (about 1 GB/s beside the reading itself).
  SharedTable(const tessera::mpi::Communicator& comm, const files::InputFile& file,
              const BetweenReads& between = {});

  /// *Collective.* What `work` returns, a collective reading of the table. Throws the same `Error(input)` on
  /// every rank if the table was written to since it was opened, whatever else it seemed to be then.
  template <class Work>
  [[nodiscard]] auto read(const tessera::mpi::Communicator& comm, Work work) const {
    auto result = [&] {
      try {
        return work();
      } catch (const tessera::mpi::Failure&) {
        throw;
      } catch (const Error& error) {
        // Half of one table and half of another has faults that neither has.
        if (error.code() == ErrorCode::input) require_unchanged(comm);
        throw;
      }
    }();
    require_unchanged(comm);
    return result;
  }

  /// The file as this rank has opened it.
  [[nodiscard]] const files::FileState& opened() const noexcept { return opened_; }

 private:
  void require_unchanged(const tessera::mpi::Communicator& comm) const;

  const files::InputFile* file_;
  files::FileState opened_;
};

}  // namespace tessera::gam
