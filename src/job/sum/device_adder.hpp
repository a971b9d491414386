// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/sum/add_kernels.cuh"

#include <tessera/device/kernel_compiler.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <vector>

namespace TESSERA_NAMESPACE {

[[nodiscard]] std::vector<NamedHeader> adder_files();
[[nodiscard]] ModuleSource adder_source();

/// The launches that add `count` vectors of `width` doubles: the first adds doubles, later ones merge the
/// sums of the previous launch, and the last leaves one vector.
[[nodiscard]] std::vector<AdderStep> adder_steps(std::int64_t count, std::int64_t width);

[[nodiscard]] constexpr std::int64_t adder_tiles(const AdderStep& step) {
  return (step.width + step.columns - 1) / step.columns;
}

}  // namespace TESSERA_NAMESPACE
