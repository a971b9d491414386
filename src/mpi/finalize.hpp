// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <functional>
#include <memory>

namespace tessera::inline TESSERA_ABI::mpi::detail {

class RankGroup;

/// Sees to it that MPI_Finalize, whoever calls it, first brings to their end what `AtFinalize` and
/// `keep_until_finalize` name: a rank that comes to it early is then noticed as one that leaves `main`.
void watch_finalize();

/// Does `work` when MPI_Finalize is called while it lives, the last made first. `work` must not throw.
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

/// Its ranks meet there, in the order in which groups are given, which is the same on all their ranks.
void keep_until_finalize(std::shared_ptr<RankGroup> group);

}  // namespace tessera::inline TESSERA_ABI::mpi::detail
