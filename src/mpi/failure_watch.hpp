// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/mpi/communicator.hpp>
#include <tessera/version.hpp>

#include <exception>

namespace TESSERA_NAMESPACE::mpi::detail {

/// Thrown on ranks that did not fail themselves.
class OtherRankFailed : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "another rank has failed"; }
};

/// Keeps ranks from waiting for a failed rank: they vote on failures before each collective call of all
/// ranks.
class FailureWatch {
 public:
  /// `comm`, of all ranks, is used only for the votes, and must outlive the watch.
  explicit FailureWatch(const Communicator& comm) : comm_(comm) {}
  /// *Collective.* Call before a collective of this many ranks: throws `OtherRankFailed` if a rank has
  /// failed.
  void ask(int ranks_of_call);
  /// *Collective.* Whether any rank has failed; `here`: whether this rank has.
  [[nodiscard]] bool any(bool here);
  /// Whether this rank has learned of a failure on another.
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }

 private:
  const Communicator& comm_;
  bool is_asking_ = false;
  bool has_failed_ = false;
};

}  // namespace TESSERA_NAMESPACE::mpi::detail
