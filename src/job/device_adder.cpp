// SPDX-License-Identifier: Apache-2.0
#include "job/device_adder.hpp"

#include "device/cuda_calls.hpp"

#include <tessera/device/context.hpp>
#include <tessera/device/module_cache.hpp>
#include <tessera/error.hpp>
#include <tessera/job/device_adder.hpp>
#include <tessera/memory/arena.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <variant>

namespace tessera::inline TESSERA_ABI {
namespace {

/// Enough to keep any device busy with reading.
constexpr std::int64_t most_threads = std::int64_t{1} << 16;
constexpr unsigned threads_of_block = 256;

/// Both compilers must see the same structure, which is copied byte by byte.
static_assert(sizeof(SumElement) == 40 && alignof(SumElement) == 8);

unsigned blocks_of(std::int64_t threads) {
  return static_cast<unsigned>((threads + threads_of_block - 1) / threads_of_block);
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

std::vector<std::int64_t> adder_steps(std::int64_t count, std::int64_t width) {
  // Of one element, in every step.
  std::int64_t threads = std::clamp<std::int64_t>(most_threads / width, 1, count);
  std::vector<std::int64_t> steps{threads * width};
  while (threads > 1) {
    // Two steps of as many merges each take the least time.
    threads = steps.size() == 1 ? static_cast<std::int64_t>(std::sqrt(static_cast<double>(threads))) : 1;
    steps.push_back(threads * width);
  }
  return steps;
}

void add_on_device(Tile& tile, ReproducibleSum& sum, const double* summands, std::int64_t count) {
  if (count < 0)
    throw Error(ErrorCode::usage, "cannot add " + std::to_string(count) + " vectors: give 0 or more");
  const auto width = static_cast<std::int64_t>(sum.width());
  const std::int64_t doubles = count * width;
  if (doubles == 0) return;

  const DeviceContext& context = *DeviceContext::bound_to_this_thread();
  static const ModuleSource source = adder_source();
  const ComputeCapability capability = tile.device().capability;
  if (std::holds_alternative<CompileFailure>(context.modules().compile(source, capability))) {
    std::vector<double> home(static_cast<std::size_t>(doubles));
    cuda::copy(home.data(), summands, home.size() * sizeof(double), tile.stream());
    cuda::synchronize(tile.stream());
    return add_by_host(sum, home);
  }
  const Module& kernels = context.modules().load(source, capability);
  const auto steps = adder_steps(count, width);
  std::array<SumElement*, 2> sums{};
  for (SumElement*& memory : sums) memory = tile.arena().take<SumElement>(static_cast<std::size_t>(steps[0]));
  launch(kernels.kernel("tessera_add"), {blocks_of(steps[0])}, {threads_of_block}, 0, tile.stream(), summands,
         doubles, steps[0], sums[0]);
  for (std::size_t step = 1; step < steps.size(); ++step) {
    launch(kernels.kernel("tessera_merge"), {blocks_of(steps[step])}, {threads_of_block}, 0, tile.stream(),
           static_cast<const SumElement*>(sums[(step - 1) % 2]), steps[step - 1], steps[step],
           sums[step % 2]);
  }
  std::vector<SumElement> elements(sum.width());
  cuda::copy(elements.data(), sums[(steps.size() - 1) % 2], elements.size() * sizeof(SumElement),
             tile.stream());
  cuda::synchronize(tile.stream());
  merge(sum, elements, count);
}

}  // namespace tessera::inline TESSERA_ABI
