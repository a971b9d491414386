// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/run/phase_clock.hpp"
#include "gam/formula/formula.hpp"
#include "gam/rows/device_table.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/gam/fit.hpp>
#include <tessera/job/job.hpp>
#include <tessera/partition/plan.hpp>

#include <memory>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Thrown on every rank if a pass that started on devices ended on the CPU. The fit then starts over on the
/// CPU, so that its model has the bits of a CPU run.
struct FellBack {};

/// Thrown on every rank by a fit on devices that only the CPU can compute.
struct NeedsHosts {
  std::string why;
};

class FitCheckpoint;

/// Objects shared by all stages of a fit. They must outlive the stages.
struct FitContext {
  Job& job;
  const Plan& plan;
  const FormulaTerms& formula;
  const FitOptions& options;
  FitObserver& observer;
  std::vector<PhaseTime>& phases;
  FitCheckpoint* checkpoint = nullptr;  ///< writes the state after every iteration; null: no checkpoint
  std::shared_ptr<DeviceTable> on_devices{};
  bool began_on_host = job.on_host();
  bool may_move_to_hosts = false;  ///< whether the fit may start over on the CPU

  void require_no_fallback() const {
    if (!began_on_host && job.on_host()) throw FellBack{};
  }

  /// *Collective.* The sums of a pass over the rows, timed as "rows". Throws `FellBack`.
  template <class Pass>
  [[nodiscard]] auto sums_of(const RowPass& rows, const Pass& pass) const {
    PhaseClock clock(job.comm(), phases, "rows", "the sums over the rows");
    clock.add_bytes(rows.bytes_per_pass());
    auto sums = pass();
    require_no_fallback();
    return sums;
  }
};

}  // namespace TESSERA_NAMESPACE::gam
