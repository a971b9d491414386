// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/workers.hpp"
#include "gam/formula/compile.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Computes the values of an expression for local rows [begin, begin + values.size()).
using RowValues = std::function<void(std::size_t begin, std::span<double> values)>;

/// *Collective.* A statistic of the non-missing values over all rows of the job. This rank has `rows`, in
/// blocks of `block` rows; no block spans two ranks. Same bits for any number of ranks and threads. Throws
/// the same `Error(input)` on every rank if the statistic is undefined.
[[nodiscard]] std::vector<double> statistic_of(const Workers& workers, Range rows, std::int64_t block,
                                               const Statistic& statistic, const RowValues& values);

}  // namespace TESSERA_NAMESPACE::gam
