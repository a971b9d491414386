// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/consensus/vote.hpp"

#include <tessera/error.hpp>

#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE {

/// A usage error on any rank. Every rank throws an `Error(usage)`, because a fallback to the CPU would not
/// help.
class Misuse : public Error {
 public:
  explicit Misuse(const std::string& message) : Error(ErrorCode::usage, message) {}
};

inline constexpr const char* thread_was_ended =
    "a function of the program ended its thread (pthread_exit or cancellation): let the function return or "
    "throw";

/// This rank's outcome of a pass, for the vote: the first failure, or a later fatal one. Recording a failure
/// does not throw, so that the rank always reaches the vote.
class Attempt {
 public:
  /// Runs `work` unless a failure or a stop was recorded. Records an exception as fatal.
  template <class Work>
  void run(Work&& work) {
    if (!ok()) return;
    try {
      std::forward<Work>(work)();
    } catch (...) {
      fatal(std::current_exception());
    }
  }

  void fatal(std::exception_ptr thrown) noexcept;
  /// The vote gets this failure only if no failure was recorded before.
  void device_failed(Verdict::Failure failure) noexcept;
  void cut_short() noexcept {
    if (ok()) ballot_.outcome = Outcome::stopped;
  }

  [[nodiscard]] bool ok() const noexcept { return ballot_.outcome == Outcome::success; }
  [[nodiscard]] const Ballot& ballot() const noexcept { return ballot_; }
  [[nodiscard]] std::span<const Verdict::Failure> device_failures() const noexcept {
    return device_failures_;
  }

  /// Throws what the vote decided. For `fatal` and `misuse`, a rank with an exception rethrows it; other
  /// ranks throw `Error(job_fault)` or `Error(usage)` with the name of the failed rank and `what`. For
  /// `disagreement`, throws `Error(usage)` with `differs` and the difference.
  [[noreturn]] void end(const Ballot& decided, const std::string& what, const std::string& differs) const;

 private:
  Ballot ballot_;
  std::vector<Verdict::Failure> device_failures_;
  std::exception_ptr thrown_;
};

/// The message, equal on all ranks: "rank 1 (node7) failed in pass 3: …".
[[nodiscard]] std::string failure_in(const std::string& what, const Ballot& decided);
/// True for `Misuse` and `WrongThread`.
[[nodiscard]] bool is_misuse(const std::exception_ptr& thrown) noexcept;

}  // namespace TESSERA_NAMESPACE
