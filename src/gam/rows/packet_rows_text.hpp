// SPDX-License-Identifier: Apache-2.0
// The functions of packet_rows.hpp for packets of TESSERA_PACKET doubles.
#include "gam/family/list.hpp"
#include "gam/rows/packet_rows.hpp"

namespace TESSERA_NAMESPACE::gam {

template <int width, PacketFamily F>
void row_outcomes_of_width(PassKind kind, const F& family, const RowArrays& rows) {
  using T = base::Packet<width>;
  for (int r = 0; r < rows.count; r += width) {
    const RowOutcome<T> row = row_outcome<T>(kind, family, T::at(rows.response + r), T::at(rows.eta + r),
                                             T::at(rows.offset + r), T::at(rows.prior + r));
    row.weight.store(rows.weight + r);
    row.residual.store(rows.residual + r);
    for (int k = 0; k < row_scalar_count; ++k) row.scalars[k].store(rows.scalars + k * rows.stride + r);
  }
}

template <int width, PacketFamily F>
void likelihood_outcomes_of_width(const F& family, const LikelihoodArrays& rows) {
  using T = base::Packet<width>;
  const int count = parameter_scalar_count(parameter_count_of(family));
  for (int r = 0; r < rows.count; r += width) {
    T scalars[parameter_scalar_count(F::parameter_count)];
    const T y = T::at(rows.response + r);
    const T eta = T::at(rows.eta + r);
    if constexpr (part_count_of<F>() > 0) {
      T part[part_count_of<F>()];
      for (int k = 0; k < part_count_of<F>(); ++k) part[k] = T::at(rows.parts + k * rows.stride + r);
      family.likelihood_terms(y, family.mean(eta), {part[0], part[1], part[2]}, scalars);
    } else {
      family.likelihood_terms(y, family.mean(eta), scalars);
    }
    settle_likelihood(family, eta, T::at(rows.prior + r), scalars);
    for (int k = 0; k < count; ++k) scalars[k].store(rows.scalars + k * rows.stride + r);
  }
}

#define TESSERA_ROWS(F)                                                                         \
  template void row_outcomes_of_width<TESSERA_PACKET, F>(PassKind, const F&, const RowArrays&); \
  template void row_outcomes_of_width<TESSERA_PACKET, Linked<F>>(PassKind, const Linked<F>&, const RowArrays&)
TESSERA_ROWS(Gaussian);
TESSERA_ROWS(Binomial);
TESSERA_ROWS(Poisson);
TESSERA_ROWS(Gamma);
TESSERA_ROWS(Nb);
TESSERA_ROWS(InverseGaussian);
TESSERA_ROWS(QuasiPoisson);
TESSERA_ROWS(QuasiBinomial);
TESSERA_ROWS(Quasi);
TESSERA_ROWS(Scat);
#undef TESSERA_ROWS
template void row_outcomes_of_width<TESSERA_PACKET, Ocat>(PassKind, const Ocat&, const RowArrays&);

#define TESSERA_LIKELIHOOD(F) \
  template void likelihood_outcomes_of_width<TESSERA_PACKET, F>(const F&, const LikelihoodArrays&)
TESSERA_LIKELIHOOD(Nb);
TESSERA_LIKELIHOOD(Linked<Nb>);
TESSERA_LIKELIHOOD(Scat);
TESSERA_LIKELIHOOD(Linked<Scat>);
TESSERA_LIKELIHOOD(Ocat);
#undef TESSERA_LIKELIHOOD

}  // namespace TESSERA_NAMESPACE::gam
