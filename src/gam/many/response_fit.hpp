// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/likelihood_sums.hpp"
#include "gam/many/shared_design.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

/// Fits one response with a shared design: minimises the Laplace REML criterion of mgcv's `gam(method =
/// "REML")` over the log smoothing parameters and log(theta) or log(phi), by Newton's method with exact
/// derivatives. A pure function of the response and the design, on one thread.
///
/// Source: Wood, "Fast stable restricted maximum likelihood and marginal likelihood estimation of
/// semiparametric generalized linear models", JRSSB 73 (2011), 3-36; for theta, Wood, Pya and Saefken,
/// "Smoothing parameter and model selection for general smooth models", JASA 111 (2016), 1548-1563.
namespace TESSERA_NAMESPACE::gam {

/// How the fit of a response ended.
enum class ManyStatus : std::uint8_t {
  converged,  ///< at a minimum of the criterion, possibly at a limit
  all_zero,   ///< not fitted: no count above zero that a curve could fit
  constant,   ///< not fitted: the same value in all rows
  too_few,    ///< not fitted: fewer values than required
  unbounded,  ///< the criterion falls to an end of a parameter's range that is not a limit of the model
  failed      ///< no step lowers the criterion, or all iterations are used
};

/// Why a fit has failed.
enum class ManyReason : std::uint8_t {
  none,
  no_start,         ///< the coefficients at the start of the search do not converge
  no_step,          ///< no step lowers the criterion
  iterations,       ///< all outer iterations are used
  no_coefficients,  ///< the coefficients at the end of the search do not converge
  no_covariance     ///< the covariance is singular
};

struct ManyEstimator {
  ManyFamily family = ManyFamily::nb;
  std::optional<double> theta{};  ///< fixed value of theta; empty: it is estimated
  /// Whether variances are those of poisson or binomial times a scale phi. Source: McCullagh and Nelder,
  /// "Generalized Linear Models", 2nd edition (1989), 9.6, extended quasi-likelihood.
  bool quasi = false;
  int least_rows = 2;  ///< responses with fewer values are `too_few`

  [[nodiscard]] bool has_scale() const noexcept {
    return quasi || family == ManyFamily::gaussian || family == ManyFamily::gamma;
  }
};

struct ResponseFit {
  ManyStatus status = ManyStatus::failed;
  ManyReason reason = ManyReason::none;  ///< why the status is `failed`
  int rows = 0;                          ///< number of rows with a value
  int iterations = 0;                    ///< number of outer iterations
  double mean = 0;                       ///< mean of the response's values
  double zeros = 0;                      ///< fraction of zeros among these values
  // The following are set only for a fit that has begun; otherwise `coef` is empty.
  std::vector<double> log_sp{};  ///< log smoothing parameters; infinite: the term is at its limit, `linear`
  double theta = 0;              ///< theta of nb; infinite: at the Poisson limit
  double scale = 1;              ///< phi
  double criterion = 0;          ///< -log REML, up to a constant that depends on the design
  double log_likelihood = 0;
  double deviance = 0;
  double null_deviance = 0;    ///< deviance of the model with an intercept and the offset
  std::vector<int> absent{};   ///< groups of the design that are left out, because all their counts are zero
  std::vector<double> coef{};  ///< coefficients of the design; zero for columns that are left out
  // The following have expected weights W, as in mgcv; the criterion has observed weights. In place of an
  // infinite log smoothing parameter they have a large finite one: otherwise the tests of coefficients that
  // it makes zero would be 0 / 0.
  std::vector<double> gram{};             ///< X'WX, packed
  std::vector<double> coef_of_tests{};    ///< coefficients at `log_sp_of_tests`
  std::vector<double> log_sp_of_tests{};  ///< `log_sp` with finite values in place of infinite ones
  std::vector<double> inverse{};          ///< (X'WX + S)^-1 = covariance / `scale`, packed; zero for columns
                                          ///< that are left out
  [[nodiscard]] bool is_fitted() const noexcept { return !coef.empty(); }
};

/// Weights and offsets of one response, by row of the table, in addition to those of the design: weights
/// multiply the design's (a row with weight zero is left out), offsets are added. Empty: none.
struct RowAdjustments {
  std::span<const double> weights{};
  std::span<const double> offsets{};
};

/// Fits one response after another. Not thread-safe: each thread has its own fitter. Makes at most 60 outer
/// iterations, each with at most 100 Newton steps of the coefficients.
class ResponseFitter {
 public:
  /// The design must outlive this object. `sums` computes sums over rows; by default the calling thread does.
  ResponseFitter(const SharedDesign& design, const ManyEstimator& estimator);
  ResponseFitter(const SharedDesign& design, const ManyEstimator& estimator,
                 std::unique_ptr<LikelihoodSums> sums);
  ~ResponseFitter();
  ResponseFitter(ResponseFitter&&) noexcept;
  ResponseFitter& operator=(ResponseFitter&&) = delete;

  /// `values`: by row of the table; NaN: missing. Throws `Error(input)`, beginning with the row ("row 5: …"),
  /// for a value outside the family's range, a negative weight, or an offset that is not finite.
  [[nodiscard]] ResponseFit fit(std::span<const double> values, const RowAdjustments& own = {});

 private:
  class Search;
  std::unique_ptr<Search> search_;
};

}  // namespace TESSERA_NAMESPACE::gam
