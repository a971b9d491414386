// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/consensus/vote.hpp"

#include <tessera/error.hpp>

#include <exception>
#include <string>
#include <utility>

namespace tessera::inline TESSERA_ABI {

/// A mistake in the program that no CPU run can make good: an `Error(usage)` on every rank, whichever made
/// it.
class Misuse : public Error {
 public:
  explicit Misuse(const std::string& message) : Error(ErrorCode::usage, message) {}
};

inline constexpr const char* thread_was_ended =
    "a function that the job called ended its thread (pthread_exit, or cancelled): return from it, or throw";

/// What went wrong first on this rank, kept for the vote while the rank goes on to it. Nothing that a failure
/// brings along keeps the rank from the vote: noting one does not throw.
class Attempt {
 public:
  /// Does `work` unless something went wrong before. An exception is fatal for the pass.
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
  void device_failed(Verdict::Failure failure) noexcept;
  /// The work was cut short because the job is to stop.
  void cut_short() noexcept {
    if (ok()) ballot_.outcome = Outcome::stopped;
  }

  [[nodiscard]] bool ok() const noexcept { return ballot_.outcome == Outcome::success; }
  [[nodiscard]] const Ballot& ballot() const noexcept { return ballot_; }

  /// Ends a pass, or the setting up, as the vote decided. `fatal`: rethrows what was thrown on this
  /// rank, or throws `Error(job_fault)` naming the rank that failed in `what`. `misuse`: the same with
  /// `Error(usage)`. `disagreement`: throws `Error(usage)` with the text `differs`, and what does.
  [[noreturn]] void end(const Ballot& decided, const std::string& what, const std::string& differs) const;

 private:
  Ballot ballot_;
  std::exception_ptr thrown_;
};

/// Why a rank failed in `what`, as all ranks know it: "rank 1 (node7) failed in pass 3: …".
[[nodiscard]] std::string failure_in(const std::string& what, const Ballot& decided);
/// True for a `Misuse`, and for a collective call on a thread that may make none.
[[nodiscard]] bool is_misuse(const std::exception_ptr& thrown) noexcept;

}  // namespace tessera::inline TESSERA_ABI
