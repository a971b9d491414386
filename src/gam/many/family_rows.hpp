// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

/// Log likelihood l(eta) of one row with prior weight 1, for each family. Compiled for the host, with a
/// packet of rows as `Math::Real`, and for devices.
namespace TESSERA_NAMESPACE::gam {

/// log(a/b) for a, b >= 0, with a small relative error; finite if a or b is 0.
template <class Math, class Real = typename Math::Real>
TESSERA_LANE_INLINE Real log_ratio(const Real& a, const Real& b) {
  constexpr double least = 1e-200;
  const Real smaller = Math::min(a, b);
  const Real excess = Math::max(a, b) - smaller;
  return Math::with_sign(Math::log1p(excess / Math::max(smaller, Real{} + least)), a - b);
}

/// The loss l_s - l, half of the deviance, where l_s is l at mean y. Summing differences avoids the
/// cancellation of sums of l_s and l for large counts. For nb, with tau = log(theta), also the first two
/// derivatives of l - l_s by tau, and d2l/(deta dtau).
template <class Real>
struct RowLoss {
  Real value{};
  Real by_tau{};
  Real by_tau_twice{};
  Real score_by_tau{};
};

/// Derivatives of the weight w = -d2l/deta2 by eta and, for nb, by tau; for nb also d3l/(deta dtau2).
template <class Real>
struct RowWeightDerivatives {
  Real eta{};
  Real eta_eta{};
  Real tau{};
  Real eta_tau{};
  Real tau_tau{};
  Real score_tau_tau{};
};

/// Poisson counts with the log link: l = y eta - mu.
template <class Math>
struct PoissonRow {
  using Real = typename Math::Real;
  static constexpr bool has_tau = false;
  TESSERA_LANE_INLINE Real mean(const Real& eta) const { return Math::exp(eta); }
  TESSERA_LANE_INLINE Real score(const Real& y, const Real& mean) const { return y - mean; }
  TESSERA_LANE_INLINE Real weight(const Real& /*y*/, const Real& mean) const { return mean; }
  TESSERA_LANE_INLINE Real expected_weight(const Real& mean) const { return mean; }
  TESSERA_LANE_INLINE RowLoss<Real> loss(const Real& y, const Real& /*eta*/, const Real& mean) const {
    return {(mean - y) - y * log_ratio<Math>(mean, y)};
  }
  TESSERA_LANE_INLINE RowWeightDerivatives<Real> derivatives(const Real& /*y*/, const Real& mean) const {
    return {mean, mean};
  }
};

/// Binomial proportions with the logit link: l = y eta - log(1 + e^eta).
template <class Math>
struct BinomialRow {
  using Real = typename Math::Real;
  static constexpr bool has_tau = false;
  TESSERA_LANE_INLINE Real mean(const Real& eta) const { return 1.0 / (1.0 + Math::exp(-eta)); }
  TESSERA_LANE_INLINE Real score(const Real& y, const Real& mean) const { return y - mean; }
  TESSERA_LANE_INLINE Real weight(const Real& /*y*/, const Real& mean) const { return mean * (1.0 - mean); }
  TESSERA_LANE_INLINE Real expected_weight(const Real& mean) const { return mean * (1.0 - mean); }
  TESSERA_LANE_INLINE RowLoss<Real> loss(const Real& y, const Real& eta, const Real& mean) const {
    const Real other = 1.0 - y;
    const Real mean_of_other = 1.0 / (1.0 + Math::exp(eta));
    return {y * log_ratio<Math>(y, mean) + other * log_ratio<Math>(other, mean_of_other)};
  }
  TESSERA_LANE_INLINE RowWeightDerivatives<Real> derivatives(const Real& y, const Real& mean) const {
    const Real w = weight(y, mean);
    return {w * (1.0 - 2.0 * mean), w * (1.0 - 6.0 * w)};
  }
};

/// Gaussian with the identity link: l = -(y - mu)^2 / 2.
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

/// Gamma with the log link: l = -(y/mu + eta).
template <class Math>
struct GammaRow {
  using Real = typename Math::Real;
  static constexpr bool has_tau = false;
  TESSERA_LANE_INLINE Real mean(const Real& eta) const { return Math::exp(eta); }
  TESSERA_LANE_INLINE Real score(const Real& y, const Real& mean) const { return y / mean - 1.0; }
  TESSERA_LANE_INLINE Real weight(const Real& y, const Real& mean) const { return y / mean; }
  TESSERA_LANE_INLINE Real expected_weight(const Real& /*mean*/) const { return Real{} + 1.0; }
  TESSERA_LANE_INLINE RowLoss<Real> loss(const Real& y, const Real& /*eta*/, const Real& mean) const {
    return {(y - mean) / mean - log_ratio<Math>(y, mean)};
  }
  TESSERA_LANE_INLINE RowWeightDerivatives<Real> derivatives(const Real& y, const Real& mean) const {
    const Real w = y / mean;
    return {-w, w};
  }
};

/// Negative binomial counts with the log link. With m = mu/theta (here called mean) and r = 1/(1 + m): l = y
/// eta - (y + theta) log(1 + m), without terms of y and theta only.
template <class Math>
struct NbRow {
  using Real = typename Math::Real;
  static constexpr bool has_tau = true;
  double theta;
  double log_theta;

  TESSERA_LANE_INLINE Real mean(const Real& eta) const { return Math::exp(eta - log_theta); }
  TESSERA_LANE_INLINE Real score(const Real& y, const Real& mean) const {
    return (y - theta * mean) * (1.0 / (1.0 + mean));  // the same division as in `weight`, done once
  }
  TESSERA_LANE_INLINE Real weight(const Real& y, const Real& mean) const {
    const Real r = 1.0 / (1.0 + mean);
    return (y + theta) * (mean * r) * r;
  }
  TESSERA_LANE_INLINE Real expected_weight(const Real& mean) const { return theta * mean / (1.0 + mean); }
  TESSERA_LANE_INLINE RowLoss<Real> loss(const Real& y, const Real& /*eta*/, const Real& m) const {
    const Real r = 1.0 / (1.0 + m);
    const Real at_y = y / theta;  // m at mean y
    const Real r_at_y = 1.0 / (1.0 + at_y);
    const Real excess = m - at_y;
    const Real size = Math::max(excess, -excess);
    const Real log_ratio_of_sums = Math::with_sign(Math::log1p(size * Math::max(r, r_at_y)), excess);
    const Real share = excess * r;
    const Real slope = theta * (share - log_ratio_of_sums);
    return {(y + theta) * log_ratio_of_sums - y * log_ratio<Math>(m, at_y), slope,
            slope + theta * (share * share) * r_at_y, -(theta * (m * r)) * share};
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
