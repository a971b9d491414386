// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/parted_matrix.hpp"

#include <tessera/job/job.hpp>

#include <cstdint>

namespace TESSERA_NAMESPACE::gam {

struct Piece;

struct SimultaneousBand {
  double probability;
  int draws;
  std::uint64_t seed;
  std::uint32_t stream;
};

/// *Collective.* The critical value of a simultaneous band over the points of a piece: the quantile (R's type
/// 8) of the largest |x'(b - E b)| / se(x) over its points x, b drawn from the posterior distribution. NaN
/// for a piece with too many coefficients or points, or elements missing from the covariance.
[[nodiscard]] double critical_value(Job& job, const PartedMatrix& covariance, const Piece& piece,
                                    const SimultaneousBand& band);

}  // namespace TESSERA_NAMESPACE::gam
