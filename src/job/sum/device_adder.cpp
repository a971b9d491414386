// SPDX-License-Identifier: Apache-2.0
#include "job/sum/device_adder.hpp"

#include "device/cuda_calls.hpp"

#include <tessera/device/backend.hpp>
#include <tessera/device/module_cache.hpp>
#include <tessera/error.hpp>
#include <tessera/job/device_adder.hpp>
#include <tessera/memory/arena.hpp>

#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <string>
#include <variant>

namespace TESSERA_NAMESPACE {
namespace {

/// Maximum tile width: a warp, for coalesced reads.
constexpr std::int64_t most_columns = 32;
/// Minimum number of summands per thread: with fewer, another thread block does not pay.
constexpr std::int64_t least_summands = 4;
/// Maximum number of thread blocks: enough to saturate the memory bandwidth of any device.
constexpr std::int64_t most_blocks = 1024;

/// Host and device compilers must agree on the layout of structures that are copied as bytes.
static_assert(sizeof(SumElement) == 40 && alignof(SumElement) == 8);
static_assert(sizeof(AdderStep) == 32 && alignof(AdderStep) == 8);

AdderStep step_of(std::int64_t count, std::int64_t width) {
  AdderStep step{.count = count, .width = width};
  step.columns = static_cast<std::int32_t>(std::min(width, most_columns));
  step.rows = static_cast<std::int32_t>(std::bit_floor(static_cast<unsigned>(adder_threads / step.columns)));
  const std::int64_t most = std::max<std::int64_t>(most_blocks / adder_tiles(step), 1);
  step.blocks = std::clamp<std::int64_t>(count / (step.rows * least_summands), 1, most);
  return step;
}

std::size_t elements_after(const AdderStep& step) {
  return static_cast<std::size_t>(step.blocks * step.width);
}

struct AdderKernels {
  KernelView add;
  KernelView merge;
};

/// Empty if the kernels cannot be compiled.
std::optional<AdderKernels> load_kernels(const BackendContext& context) {
  const ModuleSource source = adder_source();
  if (std::holds_alternative<CompileFailure>(context.modules->compile(source, context.capability))) return {};
  const Module& module = context.modules->load(source, context.capability);
  return AdderKernels{module.kernel("tessera_add"), module.kernel("tessera_merge")};
}

void add_by_host(ReproducibleSum& sum, std::span<const double> summands) {
  for (std::size_t begin = 0; begin < summands.size(); begin += sum.width())
    sum.add(summands.subspan(begin, sum.width()));
}

void merge(ReproducibleSum& sum, std::span<const SumElement> elements, std::int64_t count) {
  std::vector<std::int32_t> tops;
  std::vector<std::int64_t> bins(elements.size() * sum_bin_count);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    tops.push_back(elements[i].top);
    for (std::size_t bin = 0; bin < sum_bin_count; ++bin)
      bins[bin * elements.size() + i] = elements[i].bins[bin];
  }
  sum.merge(tops, bins, count);
}

}  // namespace

ModuleSource adder_source() {
  ModuleSource source{.name = "sums of vectors",
                      .text = "#include \"job/sum/add_kernels.cuh\"\n",
                      .headers = standard_headers(),
                      .options = {"--std=c++20", "--device-as-default-execution-space"}};
  for (NamedHeader& file : adder_files()) source.headers.push_back(std::move(file));
  return source;
}

std::vector<AdderStep> adder_steps(std::int64_t count, std::int64_t width) {
  std::vector<AdderStep> steps{step_of(count, width)};
  while (steps.back().blocks > 1) steps.push_back(step_of(steps.back().blocks, width));
  return steps;
}

void add_on_device(Tile& tile, ReproducibleSum& sum, const double* summands, std::int64_t count) {
  if (count < 0)
    throw Error(ErrorCode::usage, "add_on_device: " + std::to_string(count) + " vectors: give 0 or more");
  const auto width = static_cast<std::int64_t>(sum.width());
  const std::int64_t doubles = count * width;
  if (doubles == 0) return;

  const auto kernels = probe_backend_with_compile("tessera::add_on_device", load_kernels).built;
  if (!kernels->has_value()) {
    std::vector<double> home(static_cast<std::size_t>(doubles));
    cuda::copy(home.data(), summands, home.size() * sizeof(double), tile.stream());
    cuda::synchronize(tile.stream());
    return add_by_host(sum, home);
  }
  const SumElement* sums = nullptr;
  for (const AdderStep& step : adder_steps(count, width)) {
    auto* const results = tile.arena().take<SumElement>(elements_after(step));
    const Extent grid{static_cast<unsigned>(adder_tiles(step)), static_cast<unsigned>(step.blocks)};
    if (sums == nullptr)
      launch((*kernels)->add, grid, {adder_threads}, 0, tile.stream(), step, summands, results);
    else
      launch((*kernels)->merge, grid, {adder_threads}, 0, tile.stream(), step, sums, results);
    sums = results;
  }
  std::vector<SumElement> elements(sum.width());
  cuda::copy(elements.data(), sums, elements.size() * sizeof(SumElement), tile.stream());
  cuda::synchronize(tile.stream());
  merge(sum, elements, count);
}

}  // namespace TESSERA_NAMESPACE
