// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/family.hpp"
#include "gam/formula/formula.hpp"

#include <tessera/device/kernel_compiler.hpp>
#include <tessera/function.hpp>
#include <tessera/gam/fit.hpp>
#include <tessera/job/job.hpp>

#include <cstdint>
#include <optional>
#include <string>

/// Decides whether a fit is faster on devices: small fits end on the CPU before a device has started.
namespace TESSERA_NAMESPACE::gam {

struct Hardware {
  std::int64_t host_threads = 1;  ///< of all ranks
  std::int64_t devices = 1;
  bool has_kernels = true;  ///< all kernels are compiled
};

/// Estimates the time of the passes over `rows` rows, from the number of products that a row adds to X'WX.
/// `linear`: there is a single working model; otherwise a typical number of iterations is assumed. Excludes
/// the search for smoothing parameters, which takes the same time on CPU and devices. Pure.
[[nodiscard]] CostEstimate estimate_cost(const FormulaTerms& formula, bool linear, std::int64_t rows,
                                         const Hardware& hardware);

/// *Collective.* The estimate by which `Policy::automatic` chooses. If devices seem faster, it includes the
/// compilation of `kernels` whose code is not cached. Empty if there is no choice: under another policy, on
/// the CPU, without devices, or with simulated devices.
[[nodiscard]] std::optional<CostEstimate> estimate_to_choose_by(
    Job& job, FunctionRef<ModuleSource()> kernels, FunctionRef<CostEstimate(const Hardware&)> estimate);

/// Why GPUs cannot fit this family, as "GPUs do not support …", or empty.
[[nodiscard]] std::string only_on_hosts(const Family& family);

/// "estimated 0.02 s, against 0.4 s on 1 GPU".
[[nodiscard]] std::string reason_for_host(const CostEstimate& estimate, int devices);

}  // namespace TESSERA_NAMESPACE::gam
