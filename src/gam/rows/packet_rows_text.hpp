// SPDX-License-Identifier: Apache-2.0
// Functions of packet_rows.hpp for packets of TESSERA_PACKET doubles.
#include "gam/family/list.hpp"
#include "gam/rows/packet_rows.hpp"

#include <array>
#include <bit>

namespace TESSERA_NAMESPACE::gam {
namespace {

template <class T, PacketFamily F, class Arrays>
auto response_at(const Arrays& rows, int r) {
  if constexpr (is_censored_family<F>)
    return ResponseOf<T>(T::at(rows.response + r), T::at(rows.limit + r));
  else
    return T::at(rows.response + r);
}

}  // namespace

template <int width, PacketFamily F>
void row_outcomes_of_width(PassKind kind, const F& family, const RowArrays& rows) {
  using T = base::Packet<width>;
  for (int r = 0; r < rows.count; r += width) {
    const RowOutcome<T> row = row_outcome<T>(kind, family, response_at<T, F>(rows, r), T::at(rows.eta + r),
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
    const auto y = response_at<T, F>(rows, r);
    const T eta = T::at(rows.eta + r);
    const T prior = T::at(rows.prior + r);
    if constexpr (part_count_of<F>() > 0) {
      std::array<T, part_count_of<F>()> parts;
      for (int k = 0; k < part_count_of<F>(); ++k) parts[k] = T::at(rows.parts + k * rows.stride + r);
      family.likelihood_terms(y, family.mean(eta), std::bit_cast<typename F::template ResponsePart<T>>(parts),
                              scalars);
      settle_likelihood(family, eta, prior, scalars);
    } else {
      likelihood_outcome(family, y, eta, prior, scalars);
    }
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
TESSERA_ROWS(Tweedie);
TESSERA_ROWS(Tw);
TESSERA_ROWS(Betar);
TESSERA_ROWS(Cnorm);
TESSERA_ROWS(Clog);
TESSERA_ROWS(Cpois);
#undef TESSERA_ROWS
template void row_outcomes_of_width<TESSERA_PACKET, Ocat>(PassKind, const Ocat&, const RowArrays&);
template void row_outcomes_of_width<TESSERA_PACKET, Elf>(PassKind, const Elf&, const RowArrays&);
template void row_outcomes_of_width<TESSERA_PACKET, ZiP>(PassKind, const ZiP&, const RowArrays&);

#define TESSERA_LIKELIHOOD(F) \
  template void likelihood_outcomes_of_width<TESSERA_PACKET, F>(const F&, const LikelihoodArrays&)
TESSERA_LIKELIHOOD(Nb);
TESSERA_LIKELIHOOD(Linked<Nb>);
TESSERA_LIKELIHOOD(Scat);
TESSERA_LIKELIHOOD(Linked<Scat>);
TESSERA_LIKELIHOOD(Tw);
TESSERA_LIKELIHOOD(Linked<Tw>);
TESSERA_LIKELIHOOD(Betar);
TESSERA_LIKELIHOOD(Linked<Betar>);
TESSERA_LIKELIHOOD(ZiP);
TESSERA_LIKELIHOOD(Cnorm);
TESSERA_LIKELIHOOD(Linked<Cnorm>);
TESSERA_LIKELIHOOD(Clog);
TESSERA_LIKELIHOOD(Linked<Clog>);
TESSERA_LIKELIHOOD(Ocat);
#undef TESSERA_LIKELIHOOD

}  // namespace TESSERA_NAMESPACE::gam
