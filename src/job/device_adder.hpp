// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/kernel_compiler.hpp>
#include <tessera/version.hpp>

#include <cstdint>
#include <vector>

namespace tessera::inline TESSERA_ABI {

[[nodiscard]] std::vector<NamedHeader> adder_files();
/// The kernels `tessera_add` and `tessera_merge`.
[[nodiscard]] ModuleSource adder_source();

/// The threads of the steps in which `count` vectors of `width` doubles are added: the first adds doubles,
/// each other one merges the sums of the one before, and the last has one thread for each element. All are
/// multiples of the width.
[[nodiscard]] std::vector<std::int64_t> adder_steps(std::int64_t count, std::int64_t width);

}  // namespace tessera::inline TESSERA_ABI
