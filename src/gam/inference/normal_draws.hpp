// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/matrix.hpp>

#include <cstdint>
#include <span>

namespace TESSERA_NAMESPACE::gam {

/// R with R R' = V, from the lower triangle of a covariance V, which may be singular.
[[nodiscard]] Matrix root_of(const Matrix& covariance);

/// Distinct from the streams for responses.
inline constexpr std::uint64_t stream_of_coefficients = std::uint64_t{1} << 31;

/// Sets `out` to draw number `draw` from N(0, R R'), by the given random stream. Pure.
void draw_normal(const Matrix& root, std::uint64_t seed, std::uint64_t stream, std::uint64_t draw,
                 std::span<double> out);

}  // namespace TESSERA_NAMESPACE::gam
