// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/math/packet.hpp"
#include "gam/rows/evaluation.hpp"

/// Contributions of rows to a pass on the CPU, vectorised over packets of rows.
namespace TESSERA_NAMESPACE::gam {

template <class F>
concept PacketFamily = RowFamily<F> && F::in_packets;

/// Arrays over rows, accessed up to the end of the last packet.
struct RowArrays {
  int count;
  std::ptrdiff_t stride;  ///< distance between planes of `scalars`
  const double *response, *eta, *offset, *prior;
  double *weight, *residual;
  double* scalars;                ///< `row_scalar_count` planes
  const double* limit = nullptr;  ///< censored family: second numbers of the responses
};
/// `row_outcome` for each row. Compiled from packet_rows_text.hpp for each SIMD width.
template <int width, PacketFamily F>
void row_outcomes_of_width(PassKind kind, const F& family, const RowArrays& rows);
template <PacketFamily F>
void row_outcomes(PassKind kind, const F& family, const RowArrays& rows) {
  base::at_register_width([&](auto width) { row_outcomes_of_width<width.value>(kind, family, rows); });
}

/// `RowArrays` for `PassKind::parameters`.
struct LikelihoodArrays {
  int count;
  std::ptrdiff_t stride;
  const double *response, *eta, *prior;
  const double* parts;  ///< family with a `ResponsePart`: `part_count_of` planes
  double* scalars;      ///< `parameter_scalar_count` planes
  const double* limit = nullptr;
};
/// Number of planes of `LikelihoodArrays::parts`; 0 for a family without `ResponsePart`.
template <class F>
constexpr int part_count_of() {
  if constexpr (requires { typename F::template ResponsePart<double>; })
    return sizeof(typename F::template ResponsePart<double>) / sizeof(double);
  else
    return 0;
}
template <int width, PacketFamily F>
void likelihood_outcomes_of_width(const F& family, const LikelihoodArrays& rows);
template <PacketFamily F>
void likelihood_outcomes(const F& family, const LikelihoodArrays& rows) {
  base::at_register_width([&](auto width) { likelihood_outcomes_of_width<width.value>(family, rows); });
}

}  // namespace TESSERA_NAMESPACE::gam
