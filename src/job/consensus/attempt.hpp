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

/// An error of the program that a fallback to the CPU cannot repair: an `Error(usage)` on every rank,
/// whichever rank caused it.
class Misuse : public Error {
 public:
  explicit Misuse(const std::string& message) : Error(ErrorCode::usage, message) {}
};

inline constexpr const char* thread_was_ended =
    "a function that the job called ended its thread (pthread_exit, or cancelled): return from it, or throw";

/// The first failure of this rank in a pass, kept for the vote. Recording a failure does not throw, so that
/// the rank reaches the vote in any case.
class Attempt {
 public:
  /// Runs `work` unless a failure was recorded. An exception of `work` is fatal for the pass.
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
  /// Records a device failure. The vote gets the first one that was recorded.
  void device_failed(Verdict::Failure failure) noexcept;
  /// Records that a stop request cut the work short.
  void cut_short() noexcept {
    if (ok()) ballot_.outcome = Outcome::stopped;
  }

  [[nodiscard]] bool ok() const noexcept { return ballot_.outcome == Outcome::success; }
  [[nodiscard]] const Ballot& ballot() const noexcept { return ballot_; }
  [[nodiscard]] std::span<const Verdict::Failure> device_failures() const noexcept {
    return device_failures_;
  }

  /// Ends a pass, or the set-up, by the decision of the vote. For `fatal` and `misuse`, a rank with an
  /// exception rethrows it; the others throw `Error(job_fault)` or `Error(usage)`, which names the rank that
  /// failed in `what`. For `disagreement`, throws `Error(usage)` with the text `differs` and the difference.
  [[noreturn]] void end(const Ballot& decided, const std::string& what, const std::string& differs) const;

 private:
  Ballot ballot_;
  std::vector<Verdict::Failure> device_failures_;
  std::exception_ptr thrown_;
};

/// The message of a failure in `what`, the same on all ranks: "rank 1 (node7) failed in pass 3: …".
[[nodiscard]] std::string failure_in(const std::string& what, const Ballot& decided);
/// True for a `Misuse`, and for a collective call on a thread that must not make one.
[[nodiscard]] bool is_misuse(const std::exception_ptr& thrown) noexcept;

}  // namespace TESSERA_NAMESPACE
