// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/vote.hpp"

#include <exception>
#include <string>
#include <utility>

namespace tessera {

/// What went wrong first on this rank, kept for the vote while the rank goes on to it.
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

  void fatal(std::exception_ptr thrown);
  void device_failed(Verdict::Failure failure);
  /// The work was cut short because the job is to stop.
  void cut_short() noexcept {
    if (ok()) ballot_.outcome = Outcome::stopped;
  }

  [[nodiscard]] bool ok() const noexcept { return ballot_.outcome == Outcome::success; }
  [[nodiscard]] const Ballot& ballot() const noexcept { return ballot_; }

  /// Ends a pass, or the setting up, as the vote decided. `fatal`: rethrows what was thrown on this
  /// rank, or throws `Error(job_fault)` naming the rank that failed in `what`. `disagreement`: throws
  /// `Error(usage)` with the text `differs`.
  [[noreturn]] void end(const Ballot& decided, const std::string& what, const std::string& differs) const;

 private:
  Ballot ballot_;
  std::exception_ptr thrown_;
};

/// What an exception says.
[[nodiscard]] std::string reason_of(const std::exception_ptr& thrown);

}  // namespace tessera
