// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/pirls/fit_state.hpp"

#include <tessera/gam/fit.hpp>
#include <tessera/job/checkpoint.hpp>
#include <tessera/job/job.hpp>

#include <memory>
#include <optional>
#include <string>

namespace tessera::gam {

/// Keeps a fit's state from iteration to iteration, decides what another run may go on from, and says so.
///
/// Bits of two kinds of hardware are never mixed: a state goes on where it was begun, or the fit starts over.
/// A fit that fell back to the CPU, or chose it, stays there when it goes on: that is what it would have
/// done.
///
/// All members that are marked *Collective* throw the same `Error` on every rank.
class FitCheckpoint {
 public:
  /// *Collective.* Opens `path` (see `Checkpoint`, whose errors it throws); empty: nothing is kept.
  /// `may_stay_on_cpu`: a state of a fit that was on the CPU of a job with devices is of use to another such.
  FitCheckpoint(tessera::Job& job, const std::string& path, const Fingerprint& fingerprint,
                bool may_stay_on_cpu, FitObserver& observer);

  /// Where to go on from, the same on every rank; nothing: from the beginning.
  [[nodiscard]] const std::optional<FitState>& resumed() const noexcept { return resumed_; }
  /// The verdict of a fit that stays on the CPU although the job has devices; else empty.
  [[nodiscard]] const std::string& why_on_cpu() const noexcept { return why_on_cpu_; }
  /// The last iteration whose state is in the file; nothing if there is none.
  [[nodiscard]] std::optional<int> kept() const noexcept { return kept_; }
  [[nodiscard]] std::string path() const { return checkpoint_ ? checkpoint_->path() : std::string(); }

  /// *Collective.* Keeps the state of an iteration, but for `hardware` and `why_on_cpu`, which are this
  /// object's; rank 0's counts. A file system that does not take it is a warning, once until it takes one
  /// again: the fit goes on. Throws `Error(job_fault)` if a later start of the job has taken over.
  void keep(FitState state);
  /// The fit is to be on the CPU, before its first iteration, and in any later run too: what its verdict is.
  void stay_on_cpu(std::string verdict);
  /// *Collective.* The fit fell back, and starts over on the CPU. Keeps that.
  void keep_on_cpu();

  /// *Collective.* When all ranks have agreed to stop because of `cause`: sees that the last state is in the
  /// file, and throws `Error(interrupted)` that says how to go on; `Error(job_fault)` if it cannot be kept.
  [[noreturn]] void stop(const std::string& cause);
  /// The files, to be removed when there is an answer; null: there are none.
  [[nodiscard]] const std::shared_ptr<Checkpoint>& files() const noexcept { return checkpoint_; }

 private:
  void save();

  tessera::Job& job_;
  FitObserver& observer_;
  std::shared_ptr<Checkpoint> checkpoint_;
  std::optional<FitState> resumed_;
  bool began_on_host_;
  std::string hardware_;          // of the states to keep
  std::string why_on_cpu_;        // of the states to keep
  std::optional<FitState> last_;  // to be kept
  std::optional<int> kept_;
  std::string problem_;  // why `last_` is not in the file, or not safe there
};

}  // namespace tessera::gam
