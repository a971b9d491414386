// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <functional>
#include <memory>

namespace tessera::inline TESSERA_ABI::mpi::detail {

class RankGroup;

/// Makes MPI_Finalize, whoever calls it, first run what `AtFinalize` and `keep_until_finalize` registered: a
/// rank that calls it early is then noticed like one that returns from `main`.
void watch_finalize();

/// Runs `work` if MPI_Finalize is called during its lifetime, in reverse order of construction. `work` must
/// not throw.
class AtFinalize {
 public:
  explicit AtFinalize(std::function<void()> work);
  ~AtFinalize();
  AtFinalize(const AtFinalize&) = delete;
  AtFinalize& operator=(const AtFinalize&) = delete;

  void operator()() const { work_(); }

 private:
  std::function<void()> work_;
};

/// The ranks of the groups pass their exit barriers there, in the order of these calls, the same on all
/// ranks.
void keep_until_finalize(std::shared_ptr<RankGroup> group);

}  // namespace tessera::inline TESSERA_ABI::mpi::detail
