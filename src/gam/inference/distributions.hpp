// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <span>

/// Tail probabilities and quantiles for tests. All are pure and thread-safe.
namespace TESSERA_NAMESPACE::gam {

/// P(|Z| > |z|) for a standard normal Z.
[[nodiscard]] double normal_two_sided(double z);
/// The z with P(Z <= z) = p for a standard normal Z, 0 < p < 1.
[[nodiscard]] double normal_quantile(double p);
/// The u with P(U <= u) = p for a beta distribution: the i-th of n sorted uniform numbers has a = i, b = n +
/// 1 - i.
[[nodiscard]] double beta_quantile(double p, double a, double b);
/// P(|T| > |t|) for Student's t with df > 0, which need not be whole.
[[nodiscard]] double student_two_sided(double t, double df);
/// P(X > x) for an F distribution with df1, df2 > 0.
[[nodiscard]] double f_tail(double x, double df1, double df2);
/// P(X > x) for a chi-squared distribution with df > 0 and noncentrality >= 0.
[[nodiscard]] double chi_squared_tail(double x, double df, double noncentrality = 0);

/// One term of a weighted sum of independent chi-squared variables.
struct ChiSquaredTerm {
  double weight = 0;  ///< may be negative
  int df = 1;
};

/// P(sum_j weight_j chi2(df_j) > x), by Davies' inversion of the characteristic function with an error of at
/// most 2e-5 (much smaller probabilities are returned as 0). If Davies' algorithm fails, by the approximation
/// of Liu, Tang and Zhang, as in mgcv.
///
/// Source: Davies, Applied Statistics 29 (1980), 323-333 (AS 155); Liu, Tang and Zhang, Comput. Stat. Data
/// Anal. 53 (2009), 853-856. At least one weight must not be zero (`std::logic_error`).
[[nodiscard]] double weighted_chi_squared_tail(double x, std::span<const ChiSquaredTerm> terms);

}  // namespace TESSERA_NAMESPACE::gam
