// SPDX-License-Identifier: Apache-2.0
#include "c/handles.hpp"

#include <cstdint>

namespace tessera::c {
namespace {

/// Converts to C. Strings point into `failure`.
tessera_failure failure_of(const Verdict::Failure& failure) {
  return {failure.rank,         failure.device,        failure.hostname.c_str(),
          failure.uuid.c_str(), failure.stage.c_str(), failure.reason.c_str()};
}

std::int32_t number_of(Verdict::Ran ran) noexcept {
  switch (ran) {
    case Verdict::Ran::devices: return TESSERA_RAN_DEVICES;
    case Verdict::Ran::host: return TESSERA_RAN_HOST;
    case Verdict::Ran::fallback: return TESSERA_RAN_FALLBACK;
    case Verdict::Ran::none: break;
  }
  return TESSERA_RAN_NONE;
}

/// Converts to C. Pointers refer to `verdict` and `failures`, which must outlive the result.
tessera_verdict verdict_of(const Verdict& verdict, std::vector<tessera_failure>& failures) {
  failures.clear();
  for (const Verdict::Failure& failure : verdict.excluded) failures.push_back(failure_of(failure));
  const auto excluded = static_cast<std::int32_t>(failures.size());
  const bool fell_back = verdict.ran == Verdict::Ran::fallback;
  if (fell_back) failures.push_back(failure_of(verdict.failure));
  return {.ran = number_of(verdict.ran),
          .devices = verdict.devices,
          .hosts = verdict.hosts,
          .simulated = verdict.simulated ? 1 : 0,
          .busiest_rank = verdict.busiest_rank,
          .excluded_count = excluded,
          .excluded = excluded != 0 ? failures.data() : nullptr,
          .failure = fell_back ? &failures.back() : nullptr,
          .imbalance = verdict.imbalance,
          .absence = verdict.absence.c_str(),
          .reason = verdict.reason.c_str(),
          .shares = verdict.shares};
}

}  // namespace
}  // namespace tessera::c

using tessera::c::require;
using tessera::c::status_of;

const char* tessera_job_verdict(tessera_job* job) {
  (void)status_of([&] { job->verdict = to_string(job->job.last_verdict()); });
  return job->verdict.c_str();
}
const tessera_verdict* tessera_job_last_verdict(tessera_job* job) {
  const int status = status_of([&] {
    require(job, "tessera_job_last_verdict", "job");
    job->last_verdict = tessera::c::verdict_of(job->job.last_verdict(), job->failures);
  });
  return status == TESSERA_OK ? &job->last_verdict : nullptr;
}
