// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/byte_source.hpp"

#include <tessera/error.hpp>
#include <tessera/mpi/communicator.hpp>

#include <string>
#include <string_view>

#include "files/input_file.hpp"

/// Checks that all ranks read the same files: each rank opens the files itself, and a path can lead to a new
/// file at any moment, and to a different file on each node.
namespace TESSERA_NAMESPACE::gam {

/// *Collective.* Throws the same `Error(input)` on every rank, naming two ranks and their nodes, unless all
/// have read the same content from `path`, by its checksum.
void require_same_content(const tessera::mpi::Communicator& comm, const std::string& path,
                          std::string_view checksum);

/// *Collective.* Runs `work`, a collective reading, and then `check`, which throws if files were written to
/// since they were opened: this takes the place of any other input error.
template <class Work, class Check>
[[nodiscard]] auto unless_changed(const Work& work, const Check& check) {
  auto result = [&] {
    try {
      return work();
    } catch (const tessera::mpi::Failure&) {
      throw;
    } catch (const Error& error) {
      // A mixture of two tables has faults that neither of them has.
      if (error.code() == ErrorCode::input) check();
      throw;
    }
  }();
  check();
  return result;
}

/// The table of a job: all ranks have the same content open, and it does not change while they read it.
///
///     files::InputFile file(path);                       // on every rank
///     const SharedTable shared(comm, file);             // one table?
///     Frame frame = shared.read(comm, [&] { ... });     // and still the same at the end?
///
/// The open files are compared, not those that the path leads to now: a table replaced by a rename is
/// unchanged for ranks that have it open.
class SharedTable {
 public:
  /// *Collective.* Throws the same `Error(input)` on every rank, naming two ranks and their nodes, if they
  /// have opened different tables. `file` must outlive this. `between` is called while copies, if any, are
  /// read.
  ///
  /// Cost: an allgather of 100 bytes. If nodes have copies of their own, one rank per copy reads all of it
  /// once more, for its CRC-32 (about 1 GB/s, in addition to the reading itself).
  SharedTable(const tessera::mpi::Communicator& comm, const files::InputFile& file,
              const BetweenReads& between = {});

  /// *Collective.* Runs `work`, a collective reading of the table, and returns its result. Throws the same
  /// `Error(input)` on every rank if the table was written to since it was opened, in place of any other
  /// input error.
  template <class Work>
  [[nodiscard]] auto read(const tessera::mpi::Communicator& comm, Work work) const {
    return unless_changed(work, [&] { require_unchanged(comm); });
  }

  /// The state of the file when this rank opened it.
  [[nodiscard]] const files::FileState& opened() const noexcept { return opened_; }

 private:
  void require_unchanged(const tessera::mpi::Communicator& comm) const;

  const files::InputFile* file_;
  files::FileState opened_;
};

}  // namespace TESSERA_NAMESPACE::gam
