// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/job.hpp>

#include <cstddef>
#include <typeinfo>

namespace tessera::inline TESSERA_ABI::detail {

/// What the C interface does with a job: passes over units whose size is known only at run time.
struct JobAccess {
  using Call = Job::Call;
  using Pass = Job::Pass;

  [[nodiscard]] static Call call_of(const char* verb, std::size_t unit_bytes) {
    return Job::call_of(verb, {&typeid(std::byte)}, {unit_bytes});
  }
  [[nodiscard]] static bool runs_on_devices(const Job& job, const Plan& plan) {
    return job.runs_on_devices(plan);
  }
  static void run(Job& job, const Plan& plan, const Pass& pass) { job.run(plan, pass); }
};

}  // namespace tessera::inline TESSERA_ABI::detail
