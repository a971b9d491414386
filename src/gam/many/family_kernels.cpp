// SPDX-License-Identifier: Apache-2.0
// Derivatives of each family's log likelihood in SIMD packets of rows.
#include "base/math/elementary.hpp"
#include "gam/many/row_kernels.hpp"

#include "gam/many/family_rows.hpp"

namespace TESSERA_NAMESPACE::gam {

using base::lane_count;
using base::Lanes;
using base::load_lanes;
using base::store_lanes;

namespace {

struct LaneMath {
  using Real = Lanes;
  TESSERA_LANE_INLINE static Lanes exp(const Lanes& x) { return base::exp_lanes(x); }
  TESSERA_LANE_INLINE static Lanes log1p(const Lanes& x) { return base::log1p_lanes(x); }
  TESSERA_LANE_INLINE static Lanes min(const Lanes& a, const Lanes& b) { return base::min_lanes(a, b); }
  TESSERA_LANE_INLINE static Lanes max(const Lanes& a, const Lanes& b) { return base::max_lanes(a, b); }
  TESSERA_LANE_INLINE static Lanes with_sign(const Lanes& size, const Lanes& sign) {
    return base::with_sign(size, sign);
  }
};
using PoissonLanes = PoissonRow<LaneMath>;
using BinomialLanes = BinomialRow<LaneMath>;
using GaussianLanes = GaussianRow<LaneMath>;
using GammaLanes = GammaRow<LaneMath>;
using NbLanes = NbRow<LaneMath>;

template <class Family>
TESSERA_LANE_INLINE void fill_first(const Family& family, const ResponseRows& rows, int packets,
                                    double* score, double* weight) {
  for (std::ptrdiff_t i = 0; i < std::ptrdiff_t{lane_count} * packets; i += lane_count) {
    const Lanes y = load_lanes(rows.y + i);
    const Lanes prior = load_lanes(rows.weights + i);
    const Lanes mean = family.mean(load_lanes(rows.eta + i));
    store_lanes(rows.mean + i, mean);
    store_lanes(score + i, prior * family.score(y, mean));
    store_lanes(weight + i, prior * family.weight(y, mean));
  }
}

template <class Family>
TESSERA_LANE_INLINE void fill_expected(const Family& family, const ResponseRows& rows, int packets,
                                       double* to) {
  for (std::ptrdiff_t i = 0; i < std::ptrdiff_t{lane_count} * packets; i += lane_count)
    store_lanes(to + i, load_lanes(rows.weights + i) * family.expected_weight(load_lanes(rows.mean + i)));
}

template <class Family>
TESSERA_LANE_INLINE void add_loss(const Family& family, const ResponseRows& rows, int packets, LossSums& sums,
                                  double* score_by_tau) {
  LossSums own;
  for (std::ptrdiff_t i = 0; i < std::ptrdiff_t{lane_count} * packets; i += lane_count) {
    const Lanes prior = load_lanes(rows.weights + i);
    const RowLoss<Lanes> loss =
        family.loss(load_lanes(rows.y + i), load_lanes(rows.eta + i), load_lanes(rows.mean + i));
    own.loss += prior * loss.value;
    if constexpr (!Family::has_tau) continue;
    own.by_tau += prior * loss.by_tau;
    own.by_tau_twice += prior * loss.by_tau_twice;
    store_lanes(score_by_tau + i, prior * loss.score_by_tau);
  }
  sums.loss += own.loss;
  sums.by_tau += own.by_tau;
  sums.by_tau_twice += own.by_tau_twice;
}

template <class Family>
TESSERA_LANE_INLINE void fill_derivatives(const Family& family, const ResponseRows& rows, int packets,
                                          const WeightDerivatives& to) {
  for (std::ptrdiff_t i = 0; i < std::ptrdiff_t{lane_count} * packets; i += lane_count) {
    const Lanes prior = load_lanes(rows.weights + i);
    const RowWeightDerivatives<Lanes> d =
        family.derivatives(load_lanes(rows.y + i), load_lanes(rows.mean + i));
    store_lanes(to.eta + i, prior * d.eta);
    store_lanes(to.eta_eta + i, prior * d.eta_eta);
    if constexpr (!Family::has_tau) continue;
    store_lanes(to.tau + i, prior * d.tau);
    store_lanes(to.eta_tau + i, prior * d.eta_tau);
    store_lanes(to.tau_tau + i, prior * d.tau_tau);
    store_lanes(to.score_tau_tau + i, prior * d.score_tau_tau);
  }
}

// The clones have internal linkage; otherwise the linker would export their ifunc resolvers.

TESSERA_LANE_CLONES void first_derivatives_clones(ManyFamily family, double theta, const ResponseRows& rows,
                                                  int packets, double* score, double* weight) {
  switch (family) {
    case ManyFamily::nb: return fill_first(NbLanes{theta, base::log(theta)}, rows, packets, score, weight);
    case ManyFamily::poisson: return fill_first(PoissonLanes{}, rows, packets, score, weight);
    case ManyFamily::binomial: return fill_first(BinomialLanes{}, rows, packets, score, weight);
    case ManyFamily::gaussian: return fill_first(GaussianLanes{}, rows, packets, score, weight);
    case ManyFamily::gamma: return fill_first(GammaLanes{}, rows, packets, score, weight);
  }
}

TESSERA_LANE_CLONES void expected_weights_clones(ManyFamily family, double theta, const ResponseRows& rows,
                                                 int packets, double* to) {
  switch (family) {
    case ManyFamily::nb: return fill_expected(NbLanes{theta, base::log(theta)}, rows, packets, to);
    case ManyFamily::poisson: return fill_expected(PoissonLanes{}, rows, packets, to);
    case ManyFamily::binomial: return fill_expected(BinomialLanes{}, rows, packets, to);
    case ManyFamily::gaussian: return fill_expected(GaussianLanes{}, rows, packets, to);
    case ManyFamily::gamma: return fill_expected(GammaLanes{}, rows, packets, to);
  }
}

TESSERA_LANE_CLONES void add_losses_clones(ManyFamily family, double theta, const ResponseRows& rows,
                                           int packets, LossSums& sums, double* score_by_tau) {
  switch (family) {
    case ManyFamily::nb: return add_loss(NbLanes{theta, base::log(theta)}, rows, packets, sums, score_by_tau);
    case ManyFamily::poisson: return add_loss(PoissonLanes{}, rows, packets, sums, score_by_tau);
    case ManyFamily::binomial: return add_loss(BinomialLanes{}, rows, packets, sums, score_by_tau);
    case ManyFamily::gaussian: return add_loss(GaussianLanes{}, rows, packets, sums, score_by_tau);
    case ManyFamily::gamma: return add_loss(GammaLanes{}, rows, packets, sums, score_by_tau);
  }
}

TESSERA_LANE_CLONES void weight_derivatives_clones(ManyFamily family, double theta, const ResponseRows& rows,
                                                   int packets, const WeightDerivatives& to) {
  switch (family) {
    case ManyFamily::nb: return fill_derivatives(NbLanes{theta, base::log(theta)}, rows, packets, to);
    case ManyFamily::poisson: return fill_derivatives(PoissonLanes{}, rows, packets, to);
    case ManyFamily::binomial: return fill_derivatives(BinomialLanes{}, rows, packets, to);
    case ManyFamily::gaussian: return fill_derivatives(GaussianLanes{}, rows, packets, to);
    case ManyFamily::gamma: return fill_derivatives(GammaLanes{}, rows, packets, to);
  }
}

}  // namespace

void first_derivatives(ManyFamily family, double theta, const ResponseRows& rows, int packets, double* score,
                       double* weight) {
  first_derivatives_clones(family, theta, rows, packets, score, weight);
}
void expected_weights(ManyFamily family, double theta, const ResponseRows& rows, int packets, double* to) {
  expected_weights_clones(family, theta, rows, packets, to);
}
void add_losses(ManyFamily family, double theta, const ResponseRows& rows, int packets, LossSums& sums,
                double* score_by_tau) {
  add_losses_clones(family, theta, rows, packets, sums, score_by_tau);
}
void weight_derivatives(ManyFamily family, double theta, const ResponseRows& rows, int packets,
                        const WeightDerivatives& to) {
  weight_derivatives_clones(family, theta, rows, packets, to);
}

}  // namespace TESSERA_NAMESPACE::gam
