// SPDX-License-Identifier: Apache-2.0
#include "gam/inference/distributions.hpp"

#include "base/math_policy.hpp"

#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/non_central_chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

#include <cmath>

namespace TESSERA_NAMESPACE::gam {
namespace {

namespace bm = boost::math;

using base::MathPolicy;
/// Unlike libm's functions of double, those of long double return the same bits with and without FMA.
using Real = long double;

/// P(X > x) for a positive distribution; Boost's functions reject infinity.
template <typename Distribution>
double upper_tail(const Distribution& distribution, double x) {
  if (x <= 0) return 1;
  if (std::isinf(x)) return 0;
  return static_cast<double>(bm::cdf(bm::complement(distribution, Real{x})));
}

/// P(|X| > |x|) for a symmetric distribution.
template <typename Distribution>
double two_sided(const Distribution& distribution, double x) {
  return static_cast<double>(2 * bm::cdf(bm::complement(distribution, Real{std::abs(x)})));
}

}  // namespace

double normal_quantile(double p) {
  return static_cast<double>(bm::quantile(bm::normal_distribution<Real, MathPolicy>(), Real{p}));
}

double beta_quantile(double p, double a, double b) {
  return static_cast<double>(bm::quantile(bm::beta_distribution<Real, MathPolicy>(a, b), Real{p}));
}

double normal_two_sided(double z) {
  return two_sided(bm::normal_distribution<Real, MathPolicy>(), z);
}

double student_two_sided(double t, double df) {
  return two_sided(bm::students_t_distribution<Real, MathPolicy>(df), t);
}

double f_tail(double x, double df1, double df2) {
  return upper_tail(bm::fisher_f_distribution<Real, MathPolicy>(df1, df2), x);
}

double chi_squared_tail(double x, double df, double noncentrality) {
  if (noncentrality <= 0) return upper_tail(bm::chi_squared_distribution<Real, MathPolicy>(df), x);
  return upper_tail(bm::non_central_chi_squared_distribution<Real, MathPolicy>(df, noncentrality), x);
}

}  // namespace TESSERA_NAMESPACE::gam
