// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/byte_source.hpp"

#include <tessera/error.hpp>
#include <tessera/mpi/communicator.hpp>

#include <string>
#include <string_view>

#include "files/input_file.hpp"

/// Checks that all ranks read the same files. Each rank opens the files itself; meanwhile the file at a path
/// may be replaced, and nodes may see different files.
namespace TESSERA_NAMESPACE::gam {

/// *Collective.* Throws the same `Error(input)` on every rank, naming two ranks and their nodes, unless all
/// ranks have the same checksum of the content of `path`.
void require_same_content(const tessera::mpi::Communicator& comm, const std::string& path,
                          std::string_view checksum);

/// *Collective.* Runs `work`, a collective reading, then `check`, which throws if files were modified since
/// they were opened; its error replaces any other input error.
template <class Work, class Check>
[[nodiscard]] auto unless_changed(const Work& work, const Check& check) {
  auto result = [&] {
    try {
      return work();
    } catch (const tessera::mpi::Failure&) {
      throw;
    } catch (const Error& error) {
      // A reading that mixes an old and a new table may find faults that neither table has.
      if (error.code() == ErrorCode::input) check();
      throw;
    }
  }();
  check();
  return result;
}

/// The file of a job's table: all ranks have the same content open, which must not change while they read.
///
///     files::InputFile file(path);                       // on every rank
///     const SharedTable shared(comm, file);             // one table?
///     Frame frame = shared.read(comm, [&] { ... });     // and still the same at the end?
///
/// The open files are compared, not the files now at the path: if a table is replaced by a rename, ranks that
/// have the old file open still read it unchanged.
class SharedTable {
 public:
  /// *Collective.* Throws the same `Error(input)` on every rank, naming two ranks and their nodes, if they
  /// have opened different tables. `file` must outlive this object. `between` is called while copies of the
  /// file are compared.
  ///
  /// Cost: an allgather of 100 bytes. If nodes have separate copies, one rank per copy also reads the whole
  /// copy for its CRC-32 (about 1 GB/s).
  SharedTable(const tessera::mpi::Communicator& comm, const files::InputFile& file,
              const BetweenReads& between = {});

  /// *Collective.* Runs `work`, a collective reading, and returns its result. Throws the same `Error(input)`
  /// on every rank if the table was modified since it was opened; this replaces any other input error.
  template <class Work>
  [[nodiscard]] auto read(const tessera::mpi::Communicator& comm, Work work) const {
    return unless_changed(work, [&] { require_unchanged(comm); });
  }

  [[nodiscard]] const files::FileState& opened() const noexcept { return opened_; }

 private:
  void require_unchanged(const tessera::mpi::Communicator& comm) const;

  const files::InputFile* file_;
  files::FileState opened_;
};

}  // namespace TESSERA_NAMESPACE::gam
