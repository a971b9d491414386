// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <functional>
#include <memory>

namespace TESSERA_NAMESPACE::mpi::detail {

class RankGroup;
enum class ExitPath;

/// Makes MPI_Finalize, whoever calls it, first pass the exit barriers, which detect a rank that calls it too
/// early.
void watch_finalize();

/// Passes each exit barrier that `AtFinalize` and `keep_until_finalize` have registered. Returns whether a
/// barrier of the latter included all ranks of MPI_COMM_WORLD; false after an error.
bool pass_exit_barriers(ExitPath path) noexcept;

/// Runs `work` if this rank reaches MPI_Finalize, or exits without it, during the object's lifetime. Objects
/// run in reverse order of construction. `work` must not throw.
class AtFinalize {
 public:
  explicit AtFinalize(std::function<void(ExitPath)> work);
  ~AtFinalize();
  AtFinalize(const AtFinalize&) = delete;
  AtFinalize& operator=(const AtFinalize&) = delete;

  void operator()(ExitPath path) const { work_(path); }

 private:
  std::function<void(ExitPath)> work_;
};

/// Registers an exit barrier of the group's ranks for MPI_Finalize. All ranks must register their groups in
/// the same order.
void keep_until_finalize(std::shared_ptr<RankGroup> group);

}  // namespace TESSERA_NAMESPACE::mpi::detail
