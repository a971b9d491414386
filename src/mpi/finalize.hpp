// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <functional>
#include <memory>

namespace TESSERA_NAMESPACE::mpi::detail {

class RankGroup;
enum class ExitPath;

/// Makes MPI_Finalize, whoever calls it, first pass the exit barriers, so that a rank that calls it too early
/// is detected, like a rank that returns from `main`.
void watch_finalize();

/// Passes, once, the exit barriers that `AtFinalize` and `keep_until_finalize` registered. Returns whether
/// all ranks of MPI_COMM_WORLD were among them.
bool pass_exit_barriers(ExitPath path) noexcept;

/// Runs `work` when this rank, during the object's lifetime, reaches MPI_Finalize or leaves the program
/// without it. Objects run in reverse order of construction. `work` must not throw.
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

/// Registers a group: at MPI_Finalize its ranks pass an exit barrier, in the order of the calls of this
/// function, which is the same on all ranks.
void keep_until_finalize(std::shared_ptr<RankGroup> group);

}  // namespace TESSERA_NAMESPACE::mpi::detail
