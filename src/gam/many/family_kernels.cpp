// SPDX-License-Identifier: Apache-2.0
// The derivatives of each family's log likelihood, by rows.
#include "gam/many/row_kernels.hpp"

#include <cmath>

namespace TESSERA_NAMESPACE::gam {

using base::all_lanes;
using base::lane_count;
using base::Lanes;
using base::load_lanes;
using base::store_lanes;

namespace {

/// Derivatives of the weight w = -d2l/deta2 of one row of prior weight 1.
struct LaneDerivatives {
  Lanes eta;
  Lanes eta_eta;
};

/// Counts with the log link, canonical: l = y eta - mu.
struct PoissonLanes {
  TESSERA_LANE_INLINE static Lanes mean(const Lanes& eta) { return base::exp_lanes(eta); }
  TESSERA_LANE_INLINE static Lanes score(const Lanes& y, const Lanes& mean) { return y - mean; }
  TESSERA_LANE_INLINE static Lanes weight(const Lanes& /*y*/, const Lanes& mean) { return mean; }
  TESSERA_LANE_INLINE static Lanes expected_weight(const Lanes& mean) { return mean; }
  TESSERA_LANE_INLINE static Lanes loss(const Lanes& y, const Lanes& eta, const Lanes& mean) {
    return mean - y * eta;
  }
  TESSERA_LANE_INLINE static LaneDerivatives derivatives(const Lanes& /*y*/, const Lanes& mean) {
    return {mean, mean};
  }
};

/// Proportions with the logit link, canonical: l = y eta - log(1 + e^eta).
struct BinomialLanes {
  TESSERA_LANE_INLINE static Lanes mean(const Lanes& eta) { return 1.0 / (1.0 + base::exp_lanes(-eta)); }
  TESSERA_LANE_INLINE static Lanes score(const Lanes& y, const Lanes& mean) { return y - mean; }
  TESSERA_LANE_INLINE static Lanes weight(const Lanes& /*y*/, const Lanes& mean) {
    return mean * (1.0 - mean);
  }
  TESSERA_LANE_INLINE static Lanes expected_weight(const Lanes& mean) { return mean * (1.0 - mean); }
  TESSERA_LANE_INLINE static Lanes loss(const Lanes& y, const Lanes& eta, const Lanes& /*mean*/) {
    const Lanes size = eta < 0.0 ? -eta : eta;
    const Lanes positive = eta < 0.0 ? Lanes{} : eta;
    return positive + base::log1p_lanes(base::exp_lanes(-size)) - y * eta;
  }
  TESSERA_LANE_INLINE static LaneDerivatives derivatives(const Lanes& y, const Lanes& mean) {
    const Lanes w = weight(y, mean);
    return {w * (1.0 - 2.0 * mean), w * (1.0 - 6.0 * w)};
  }
};

/// Numbers with the identity link; l is minus half of the deviance.
struct GaussianLanes {
  TESSERA_LANE_INLINE static Lanes mean(const Lanes& eta) { return eta; }
  TESSERA_LANE_INLINE static Lanes score(const Lanes& y, const Lanes& mean) { return y - mean; }
  TESSERA_LANE_INLINE static Lanes weight(const Lanes& /*y*/, const Lanes& /*mean*/) { return all_lanes(1); }
  TESSERA_LANE_INLINE static Lanes expected_weight(const Lanes& /*mean*/) { return all_lanes(1); }
  TESSERA_LANE_INLINE static Lanes loss(const Lanes& y, const Lanes& /*eta*/, const Lanes& mean) {
    return (y - mean) * (y - mean) * 0.5;
  }
  TESSERA_LANE_INLINE static LaneDerivatives derivatives(const Lanes& /*y*/, const Lanes& /*mean*/) {
    return {Lanes{}, Lanes{}};
  }
};

/// Positive numbers with the log link; l is -(y / mu + eta).
struct GammaLanes {
  TESSERA_LANE_INLINE static Lanes mean(const Lanes& eta) { return base::exp_lanes(eta); }
  TESSERA_LANE_INLINE static Lanes score(const Lanes& y, const Lanes& mean) { return y / mean - 1.0; }
  TESSERA_LANE_INLINE static Lanes weight(const Lanes& y, const Lanes& mean) { return y / mean; }
  TESSERA_LANE_INLINE static Lanes expected_weight(const Lanes& /*mean*/) { return all_lanes(1); }
  TESSERA_LANE_INLINE static Lanes loss(const Lanes& y, const Lanes& eta, const Lanes& mean) {
    return y / mean + eta;
  }
  TESSERA_LANE_INLINE static LaneDerivatives derivatives(const Lanes& y, const Lanes& mean) {
    const Lanes w = y / mean;
    return {-w, w};
  }
};

/// Overdispersed counts with the log link. With m = mu / theta, q = m / (1 + m) and r = 1 / (1 + m):
/// l = y eta - (y + theta) log(1 + m), without log(theta (theta + 1) ... (theta + y - 1) / theta^y / y!).
struct NbLanes {
  double theta;
  double log_theta;

  TESSERA_LANE_INLINE Lanes mean(const Lanes& eta) const { return base::exp_lanes(eta - log_theta); }
  TESSERA_LANE_INLINE Lanes score(const Lanes& y, const Lanes& mean) const {
    return (y - theta * mean) / (1.0 + mean);
  }
  TESSERA_LANE_INLINE Lanes weight(const Lanes& y, const Lanes& mean) const {
    const Lanes r = 1.0 / (1.0 + mean);
    return (y + theta) * (mean * r) * r;
  }
  TESSERA_LANE_INLINE Lanes expected_weight(const Lanes& mean) const { return theta * mean / (1.0 + mean); }
  TESSERA_LANE_INLINE Lanes loss(const Lanes& y, const Lanes& eta, const Lanes& mean) const {
    return (y + theta) * base::log1p_lanes(mean) - y * eta;
  }
};

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
TESSERA_LANE_INLINE void add_loss(const Family& family, const ResponseRows& rows, int packets,
                                  LossSums& sums) {
  Lanes loss = sums.loss;
  for (std::ptrdiff_t i = 0; i < std::ptrdiff_t{lane_count} * packets; i += lane_count)
    loss += load_lanes(rows.weights + i) *
            family.loss(load_lanes(rows.y + i), load_lanes(rows.eta + i), load_lanes(rows.mean + i));
  sums.loss = loss;
}

TESSERA_LANE_INLINE void add_nb_loss(const NbLanes& family, const ResponseRows& rows, int packets,
                                     LossSums& sums, double* score_by_tau) {
  const double theta = family.theta;
  LossSums own = sums;
  for (std::ptrdiff_t i = 0; i < std::ptrdiff_t{lane_count} * packets; i += lane_count) {
    const Lanes y = load_lanes(rows.y + i);
    const Lanes prior = load_lanes(rows.weights + i);
    const Lanes m = load_lanes(rows.mean + i);
    const Lanes r = 1.0 / (1.0 + m);
    const Lanes q = m * r;
    const Lanes log1p = base::log1p_lanes(m);
    own.loss += prior * ((y + theta) * log1p - y * load_lanes(rows.eta + i));
    const Lanes slope = theta * (q - log1p);
    own.by_tau += prior * (slope + y * q);
    own.by_tau_twice += prior * (slope + theta * q * q - y * q * r);
    store_lanes(score_by_tau + i, prior * ((y + theta) * (q * r) - theta * q));
  }
  sums = own;
}

template <class Family>
TESSERA_LANE_INLINE void fill_derivatives(const ResponseRows& rows, int packets,
                                          const WeightDerivatives& to) {
  for (std::ptrdiff_t i = 0; i < std::ptrdiff_t{lane_count} * packets; i += lane_count) {
    const Lanes prior = load_lanes(rows.weights + i);
    const LaneDerivatives d = Family::derivatives(load_lanes(rows.y + i), load_lanes(rows.mean + i));
    store_lanes(to.eta + i, prior * d.eta);
    store_lanes(to.eta_eta + i, prior * d.eta_eta);
  }
}

TESSERA_LANE_INLINE void fill_nb_derivatives(const NbLanes& family, const ResponseRows& rows, int packets,
                                             const WeightDerivatives& to) {
  const double theta = family.theta;
  for (std::ptrdiff_t i = 0; i < std::ptrdiff_t{lane_count} * packets; i += lane_count) {
    const Lanes y = load_lanes(rows.y + i);
    const Lanes prior = load_lanes(rows.weights + i);
    const Lanes m = load_lanes(rows.mean + i);
    const Lanes r = 1.0 / (1.0 + m);
    const Lanes q = m * r;
    const Lanes qr = q * r;
    const Lanes w = (y + theta) * qr;
    const Lanes odd = 1.0 - 2.0 * q;
    const Lanes by_eta = w * odd;
    const Lanes by_eta_eta = w * (1.0 - 6.0 * qr);
    const Lanes by_tau = theta * qr - by_eta;
    const Lanes by_eta_tau = theta * qr * odd - by_eta_eta;
    store_lanes(to.eta + i, prior * by_eta);
    store_lanes(to.eta_eta + i, prior * by_eta_eta);
    store_lanes(to.tau + i, prior * by_tau);
    store_lanes(to.eta_tau + i, prior * by_eta_tau);
    store_lanes(to.tau_tau + i, prior * (2.0 * theta * qr * q - by_eta_tau));
    store_lanes(to.score_tau_tau + i, prior * (by_tau - theta * q * q));
  }
}

// The linker would export the resolvers of functions with external linkage.

TESSERA_LANE_CLONES void first_derivatives_clones(ManyFamily family, double theta, const ResponseRows& rows,
                                                  int packets, double* score, double* weight) {
  switch (family) {
    case ManyFamily::nb: return fill_first(NbLanes{theta, std::log(theta)}, rows, packets, score, weight);
    case ManyFamily::poisson: return fill_first(PoissonLanes{}, rows, packets, score, weight);
    case ManyFamily::binomial: return fill_first(BinomialLanes{}, rows, packets, score, weight);
    case ManyFamily::gaussian: return fill_first(GaussianLanes{}, rows, packets, score, weight);
    case ManyFamily::gamma: return fill_first(GammaLanes{}, rows, packets, score, weight);
  }
}

TESSERA_LANE_CLONES void expected_weights_clones(ManyFamily family, double theta, const ResponseRows& rows,
                                                 int packets, double* to) {
  switch (family) {
    case ManyFamily::nb: return fill_expected(NbLanes{theta, std::log(theta)}, rows, packets, to);
    case ManyFamily::poisson: return fill_expected(PoissonLanes{}, rows, packets, to);
    case ManyFamily::binomial: return fill_expected(BinomialLanes{}, rows, packets, to);
    case ManyFamily::gaussian: return fill_expected(GaussianLanes{}, rows, packets, to);
    case ManyFamily::gamma: return fill_expected(GammaLanes{}, rows, packets, to);
  }
}

TESSERA_LANE_CLONES void add_losses_clones(ManyFamily family, double theta, const ResponseRows& rows,
                                           int packets, LossSums& sums, double* score_by_tau) {
  switch (family) {
    case ManyFamily::nb: return add_nb_loss({theta, std::log(theta)}, rows, packets, sums, score_by_tau);
    case ManyFamily::poisson: return add_loss(PoissonLanes{}, rows, packets, sums);
    case ManyFamily::binomial: return add_loss(BinomialLanes{}, rows, packets, sums);
    case ManyFamily::gaussian: return add_loss(GaussianLanes{}, rows, packets, sums);
    case ManyFamily::gamma: return add_loss(GammaLanes{}, rows, packets, sums);
  }
}

TESSERA_LANE_CLONES void weight_derivatives_clones(ManyFamily family, double theta, const ResponseRows& rows,
                                                   int packets, const WeightDerivatives& to) {
  switch (family) {
    case ManyFamily::nb: return fill_nb_derivatives({theta, std::log(theta)}, rows, packets, to);
    case ManyFamily::poisson: return fill_derivatives<PoissonLanes>(rows, packets, to);
    case ManyFamily::binomial: return fill_derivatives<BinomialLanes>(rows, packets, to);
    case ManyFamily::gaussian: return fill_derivatives<GaussianLanes>(rows, packets, to);
    case ManyFamily::gamma: return fill_derivatives<GammaLanes>(rows, packets, to);
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
