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

/// *Collective.* The critical value of a simultaneous band over the points of a piece, by Monte Carlo: the
/// quantile (R's type 8) of the maximum over the points x of |x'(b - E b)| / se(x), with b drawn from the
/// posterior. NaN if the piece has too many coefficients or points, or the covariance lacks elements.
[[nodiscard]] double critical_value(Job& job, const PartedMatrix& covariance, const Piece& piece,
                                    const SimultaneousBand& band);

}  // namespace TESSERA_NAMESPACE::gam
