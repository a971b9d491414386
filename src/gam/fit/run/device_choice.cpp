// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/run/device_choice.hpp"

#include "base/pluralised.hpp"
#include "gam/terms/shape.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <tessera/device/module_cache.hpp>
#include <tessera/mpi/communicator.hpp>

namespace TESSERA_NAMESPACE::gam {
namespace {

// Measured with tessera-bench fit on a Xeon of 2025 without AVX and an H200. Other hardware may be several
// times as fast, which matters only for fits of a few tenths of a second.
constexpr double host_seconds_of_row = 20e-9;
constexpr double host_seconds_of_product = 1.3e-9;
constexpr double device_seconds_of_product = 1.2e-12;
constexpr double bus_bytes_per_second = 30e9;
/// Time to start a context, load the kernels' modules from the cache, and allocate the first buffers.
constexpr double device_start_seconds = 0.35;
/// Time to compile the kernels of a user's family by NVRTC. Other kernels are compiled with the library.
constexpr double compilation_seconds = 1;
constexpr double device_pass_seconds = 2e-3;
/// Typical number of passes of a fit whose working model changes at each step.
constexpr double passes_of_iteration = 10;
/// Limit of ordered classes on devices: derivatives by pairs of thresholds must fit a kernel thread's memory.
constexpr int most_device_classes = 20;

bool has_code(Job& job, const ModuleSource& source) {
  const InventoryDevice& first = job.inventory().devices().front();
  const bool found = first.rank == job.comm().rank() && job.modules().has(source, first.capability);
  return job.comm().allreduce(std::int64_t{found}, mpi::Reduction::max) > 0;
}

}  // namespace

std::string only_on_hosts(const Family& family) {
  if (family.has_classes() && family.several() == nullptr && family.classes() > most_device_classes)
    return fmt::format("GPUs do not support more than {} ordered classes", most_device_classes);
  return family.needs_calibration() ? "GPUs do not support the calibration of quantiles" : std::string();
}

CostEstimate estimate_cost(const FormulaTerms& formula, bool linear, std::int64_t rows,
                           const Hardware& hardware) {
  const double nonzeros = nonzeros_of_row(formula);
  const double products = nonzeros * (nonzeros + 1) / 2;
  const double passes = linear ? 1 : passes_of_iteration;
  const auto n = static_cast<double>(rows);
  const auto threads = static_cast<double>(std::max<std::int64_t>(hardware.host_threads, 1));
  const auto devices = static_cast<double>(std::max<std::int64_t>(hardware.devices, 1));
  const double bytes = 8 * n * static_cast<double>(formula.variables().size());

  CostEstimate out;
  out.host_seconds = passes * n * (host_seconds_of_row + host_seconds_of_product * products) / threads;
  out.device_seconds = device_start_seconds + (hardware.has_kernels ? 0 : compilation_seconds) +
                       bytes / bus_bytes_per_second / devices +
                       passes * (device_pass_seconds + n * device_seconds_of_product * products / devices);
  return out;
}

std::optional<CostEstimate> estimate_to_choose_by(Job& job, FunctionRef<ModuleSource()> kernels,
                                                  FunctionRef<CostEstimate(const Hardware&)> estimate) {
  const auto devices = job.inventory().devices();
  if (job.on_host() || job.options().policy != Policy::automatic || devices.empty()) return std::nullopt;
  if (std::ranges::any_of(devices, &InventoryDevice::has_host_memory)) return std::nullopt;
  Hardware hardware{job.comm().allreduce(static_cast<std::int64_t>(job.threads()), mpi::Reduction::sum),
                    job.inventory().gpus()};
  const CostEstimate cached = estimate(hardware);
  if (cached.host_seconds <= cached.device_seconds) return cached;
  hardware.has_kernels = has_code(job, kernels());
  return estimate(hardware);
}

std::string reason_for_host(const CostEstimate& estimate, int devices) {
  return fmt::format("estimated {:.1g} s, against {:.1g} s on {}", estimate.host_seconds,
                     estimate.device_seconds, base::pluralised(devices, "GPU"));
}

}  // namespace TESSERA_NAMESPACE::gam
