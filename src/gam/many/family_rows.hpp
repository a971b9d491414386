// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

/// The log likelihood l of one row with prior weight 1, for each family, as a function of the linear
/// predictor eta. Compiled for the host, where a `Real` is a packet of rows, and for devices. `Math` provides
/// the type `Real` and the functions `exp` and `log1p`.
namespace TESSERA_NAMESPACE::gam {

/// The loss -l without terms that depend only on the response. For nb also its derivatives -dl/dtau and
/// -d2l/dtau2, where tau = log(theta), and d2l/(deta dtau).
template <class Real>
struct RowLoss {
  Real value{};
  Real by_tau{};
  Real by_tau_twice{};
  Real score_by_tau{};
};

/// Derivatives of the weight w = -d2l/deta2 by eta, and for nb also by tau; for nb also d3l/(deta dtau2).
template <class Real>
struct RowWeightDerivatives {
  Real eta{};
  Real eta_eta{};
  Real tau{};
  Real eta_tau{};
  Real tau_tau{};
  Real score_tau_tau{};
};

/// Counts with the canonical log link: l = y eta - mu.
template <class Math>
struct PoissonRow {
  using Real = typename Math::Real;
  static constexpr bool has_tau = false;
  TESSERA_LANE_INLINE Real mean(const Real& eta) const { return Math::exp(eta); }
  TESSERA_LANE_INLINE Real score(const Real& y, const Real& mean) const { return y - mean; }
  TESSERA_LANE_INLINE Real weight(const Real& /*y*/, const Real& mean) const { return mean; }
  TESSERA_LANE_INLINE Real expected_weight(const Real& mean) const { return mean; }
  TESSERA_LANE_INLINE RowLoss<Real> loss(const Real& y, const Real& eta, const Real& mean) const {
    return {mean - y * eta};
  }
  TESSERA_LANE_INLINE RowWeightDerivatives<Real> derivatives(const Real& /*y*/, const Real& mean) const {
    return {mean, mean};
  }
};

/// Proportions with the canonical logit link: l = y eta - log(1 + e^eta).
template <class Math>
struct BinomialRow {
  using Real = typename Math::Real;
  static constexpr bool has_tau = false;
  TESSERA_LANE_INLINE Real mean(const Real& eta) const { return 1.0 / (1.0 + Math::exp(-eta)); }
  TESSERA_LANE_INLINE Real score(const Real& y, const Real& mean) const { return y - mean; }
  TESSERA_LANE_INLINE Real weight(const Real& /*y*/, const Real& mean) const { return mean * (1.0 - mean); }
  TESSERA_LANE_INLINE Real expected_weight(const Real& mean) const { return mean * (1.0 - mean); }
  TESSERA_LANE_INLINE RowLoss<Real> loss(const Real& y, const Real& eta, const Real& /*mean*/) const {
    const Real size = eta < 0.0 ? -eta : eta;
    const Real positive = eta < 0.0 ? Real{} : eta;
    return {positive + Math::log1p(Math::exp(-size)) - y * eta};
  }
  TESSERA_LANE_INLINE RowWeightDerivatives<Real> derivatives(const Real& y, const Real& mean) const {
    const Real w = weight(y, mean);
    return {w * (1.0 - 2.0 * mean), w * (1.0 - 6.0 * w)};
  }
};

/// Numbers with the identity link: l is minus half of the deviance.
template <class Math>
struct GaussianRow {
  using Real = typename Math::Real;
  static constexpr bool has_tau = false;
  TESSERA_LANE_INLINE Real mean(const Real& eta) const { return eta; }
  TESSERA_LANE_INLINE Real score(const Real& y, const Real& mean) const { return y - mean; }
  TESSERA_LANE_INLINE Real weight(const Real& /*y*/, const Real& /*mean*/) const { return Real{} + 1.0; }
  TESSERA_LANE_INLINE Real expected_weight(const Real& /*mean*/) const { return Real{} + 1.0; }
  TESSERA_LANE_INLINE RowLoss<Real> loss(const Real& y, const Real& /*eta*/, const Real& mean) const {
    return {(y - mean) * (y - mean) * 0.5};
  }
  TESSERA_LANE_INLINE RowWeightDerivatives<Real> derivatives(const Real& /*y*/, const Real& /*mean*/) const {
    return {};
  }
};

/// Positive numbers with the log link: l = -(y / mu + eta).
template <class Math>
struct GammaRow {
  using Real = typename Math::Real;
  static constexpr bool has_tau = false;
  TESSERA_LANE_INLINE Real mean(const Real& eta) const { return Math::exp(eta); }
  TESSERA_LANE_INLINE Real score(const Real& y, const Real& mean) const { return y / mean - 1.0; }
  TESSERA_LANE_INLINE Real weight(const Real& y, const Real& mean) const { return y / mean; }
  TESSERA_LANE_INLINE Real expected_weight(const Real& /*mean*/) const { return Real{} + 1.0; }
  TESSERA_LANE_INLINE RowLoss<Real> loss(const Real& y, const Real& eta, const Real& mean) const {
    return {y / mean + eta};
  }
  TESSERA_LANE_INLINE RowWeightDerivatives<Real> derivatives(const Real& y, const Real& mean) const {
    const Real w = y / mean;
    return {-w, w};
  }
};

/// Overdispersed counts with the log link. With m = mu / theta (called mean here), l = y eta - (y + theta)
/// log(1 + m), without the term log(theta (theta + 1) ... (theta + y - 1) / theta^y / y!). The derivatives
/// use q = m / (1 + m) and r = 1 / (1 + m).
template <class Math>
struct NbRow {
  using Real = typename Math::Real;
  static constexpr bool has_tau = true;
  double theta;
  double log_theta;

  TESSERA_LANE_INLINE Real mean(const Real& eta) const { return Math::exp(eta - log_theta); }
  TESSERA_LANE_INLINE Real score(const Real& y, const Real& mean) const {
    return (y - theta * mean) * (1.0 / (1.0 + mean));  // the same division as in `weight`
  }
  TESSERA_LANE_INLINE Real weight(const Real& y, const Real& mean) const {
    const Real r = 1.0 / (1.0 + mean);
    return (y + theta) * (mean * r) * r;
  }
  TESSERA_LANE_INLINE Real expected_weight(const Real& mean) const { return theta * mean / (1.0 + mean); }
  TESSERA_LANE_INLINE RowLoss<Real> loss(const Real& y, const Real& eta, const Real& m) const {
    const Real r = 1.0 / (1.0 + m);
    const Real q = m * r;
    const Real log1p = Math::log1p(m);
    const Real slope = theta * (q - log1p);
    return {(y + theta) * log1p - y * eta, slope + y * q, slope + theta * q * q - y * q * r,
            (y + theta) * (q * r) - theta * q};
  }
  TESSERA_LANE_INLINE RowWeightDerivatives<Real> derivatives(const Real& y, const Real& m) const {
    const Real r = 1.0 / (1.0 + m);
    const Real q = m * r;
    const Real qr = q * r;
    const Real w = (y + theta) * qr;
    const Real odd = 1.0 - 2.0 * q;
    const Real by_eta = w * odd;
    const Real by_eta_eta = w * (1.0 - 6.0 * qr);
    const Real by_tau = theta * qr - by_eta;
    const Real by_eta_tau = theta * qr * odd - by_eta_eta;
    return {
        by_eta, by_eta_eta, by_tau, by_eta_tau, 2.0 * theta * qr * q - by_eta_tau, by_tau - theta * q * q};
  }
};

}  // namespace TESSERA_NAMESPACE::gam
