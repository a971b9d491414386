// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>
#include <tessera/version.hpp>

#include <exception>

namespace TESSERA_NAMESPACE::mpi::detail {

/// Thrown inside `fail_together` on ranks that did not fail, to end their `work`.
class OtherRankFailed : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "another rank has failed"; }
};

/// Prevents a deadlock on a failed rank: before each collective of all ranks, the ranks vote on failures.
class FailureWatch {
 public:
  /// `comm` has all ranks, carries only the votes, and must outlive this object.
  explicit FailureWatch(const Communicator& comm) : comm_(comm) {}
  /// Call before each collective; `ranks_of_call` is the number of its ranks. *Collective*, with a vote, if
  /// these are all ranks. Throws `OtherRankFailed` if a rank has failed.
  void ask(int ranks_of_call);
  /// *Collective.* Whether any rank has failed; `here`: whether this rank has.
  [[nodiscard]] bool any(bool here);
  /// Whether a vote in `ask` has reported a failure.
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }

 private:
  const Communicator& comm_;
  bool is_asking_ = false;
  bool has_failed_ = false;
};

}  // namespace TESSERA_NAMESPACE::mpi::detail
