// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/pirls/fit_checkpoint.hpp"

#include "gam/data/frame/frame.hpp"

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>

#include <fmt/format.h>

#include <utility>

namespace TESSERA_NAMESPACE::gam {
FitCheckpoint::FitCheckpoint(Job& job, const std::string& path, const Fingerprint& fingerprint,
                             bool may_stay_on_cpu, FitObserver& observer)
    : job_(job), observer_(observer), began_on_host_(job.on_host()), hardware_(hardware_of(job)) {
  if (path.empty()) return;
  checkpoint_ = std::make_shared<Checkpoint>(job.comm(), path, fingerprint);
  for (const std::string& remark : checkpoint_->remarks()) observer.note(remark);
  if (!checkpoint_->state()) {
    if (!checkpoint_->remarks().empty()) observer.note("starting over");
    return;
  }
  FitState state;
  together(job.comm(), [&] { state = state_from(*checkpoint_->state(), path); });
  const bool stays_on_cpu = !state.why_on_cpu.empty() && may_stay_on_cpu;
  if (state.hardware != hardware_ && !stays_on_cpu) {
    observer.note(fmt::format("the fit in {} started on {}, but this run uses {}: starting over", path,
                              state.hardware, hardware_));
    return;
  }
  observer.note(fmt::format("resuming after iteration {} from {}{}", state.iteration, path,
                            stays_on_cpu ? " on the CPU, like the interrupted run" : ""));
  hardware_ = state.hardware;
  why_on_cpu_ = state.why_on_cpu;
  kept_ = state.iteration;
  resumed_ = std::move(state);
}

void FitCheckpoint::keep(FitState state) {
  if (!checkpoint_) return;
  state.hardware = hardware_;
  state.why_on_cpu = why_on_cpu_;
  last_ = std::move(state);
  save();
}

void FitCheckpoint::stay_on_cpu(std::string verdict) {
  hardware_ = hardware_of_host;
  why_on_cpu_ = std::move(verdict);
}

void FitCheckpoint::keep_on_cpu() {
  resumed_.reset();
  // The fit starts over with a CPU plan: the load imbalance of the failed pass is irrelevant.
  Verdict verdict = job_.last_verdict();
  verdict.imbalance = 1;
  stay_on_cpu(to_string(verdict));
  keep({});
}

void FitCheckpoint::save() {
  const bool warned = !problem_.empty();
  problem_ = checkpoint_->save(to_text(*last_));
  if (checkpoint_->is_saved()) kept_ = last_->iteration;
  if (problem_.empty() || warned) return;
  if (checkpoint_->is_saved())
    observer_.note(problem_);
  else
    observer_.note(fmt::format("the state after iteration {} was not saved, but the fit continues: {}",
                               last_->iteration, problem_));
}

void FitCheckpoint::stop(const std::string& cause) {
  const auto interrupted = [&](std::string_view what) {
    return Error(ErrorCode::interrupted, fmt::format("stopped by {}{}", cause, what));
  };
  if (!checkpoint_) throw interrupted(": give a checkpoint file to make the fit resumable");
  if (!began_on_host_ && job_.on_host() && why_on_cpu_.empty()) keep_on_cpu();
  if (!problem_.empty()) save();
  if (!problem_.empty() && !checkpoint_->is_saved()) {
    throw Error(ErrorCode::job_fault,
                fmt::format("stopped by {}, but the state after iteration {} cannot be saved: {}", cause,
                            last_->iteration, problem_));
  }
  if (!kept_) throw interrupted(" before the end of the first iteration: the same command starts over");
  throw interrupted(
      fmt::format(" after iteration {}: the same command resumes from {}", *kept_, checkpoint_->path()));
}

}  // namespace TESSERA_NAMESPACE::gam
