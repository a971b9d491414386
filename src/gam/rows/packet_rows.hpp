// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/math/packet.hpp"
#include "gam/rows/evaluation.hpp"

/// Contributions of many rows to a pass on the host, a packet of rows at a time.
namespace TESSERA_NAMESPACE::gam {

/// A family whose formulas take packets.
template <class F>
concept PacketFamily = RowFamily<F> && F::in_packets;

/// Rows as arrays, which are read and written up to the end of the last packet.
struct RowArrays {
  int count;
  std::ptrdiff_t stride;  ///< distance of the planes
  const double *response, *eta, *offset, *prior;
  double *weight, *residual;
  double* scalars;                ///< a plane for each of `row_scalar_count`
  const double* limit = nullptr;  ///< of a censored family: the second numbers of the responses
};
/// `row_outcome` for each row. Compiled for each width, by packet_rows_text.hpp.
template <int width, PacketFamily F>
void row_outcomes_of_width(PassKind kind, const F& family, const RowArrays& rows);
template <PacketFamily F>
void row_outcomes(PassKind kind, const F& family, const RowArrays& rows) {
  base::at_register_width([&](auto width) { row_outcomes_of_width<width.value>(kind, family, rows); });
}

/// As `RowArrays`, for a pass for the family's parameters.
struct LikelihoodArrays {
  int count;
  std::ptrdiff_t stride;
  const double *response, *eta, *prior;
  const double* parts;  ///< of a family with a `ResponsePart`: a plane for each of its numbers
  double* scalars;      ///< a plane for each of `parameter_scalar_count`
  const double* limit = nullptr;
};
/// Number of planes of `LikelihoodArrays::parts`; 0: the family has none.
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
