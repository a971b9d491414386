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
/// derivatives. The result is a pure function of the response and the design. Uses one thread.
///
/// Source: Wood, "Fast stable restricted maximum likelihood and marginal likelihood estimation of
/// semiparametric generalized linear models", JRSSB 73 (2011), 3-36; for theta, Wood, Pya and Saefken,
/// "Smoothing parameter and model selection for general smooth models", JASA 111 (2016), 1548-1563.
namespace TESSERA_NAMESPACE::gam {

enum class ManyStatus : std::uint8_t {
  converged,  ///< at a minimum of the criterion, possibly at a limit
  all_zero,   ///< not fitted: no count above zero that a curve could fit
  constant,   ///< not fitted: the same value in all rows
  too_few,    ///< not fitted: fewer values than required
  unbounded,  ///< the criterion falls to an end of a parameter's range that is not a limit of the model
  failed      ///< no step lowers the criterion, or all iterations are used
};

enum class ManyReason : std::uint8_t {
  none,
  no_start,         ///< the initial coefficients do not converge
  no_step,          ///< no step lowers the criterion
  iterations,       ///< all outer iterations are used
  no_coefficients,  ///< the final coefficients do not converge
  no_covariance     ///< the covariance is singular
};

struct ManyEstimator {
  ManyFamily family = ManyFamily::nb;
  std::optional<double> theta{};  ///< fixed theta; empty: theta is estimated
  /// Variances are those of poisson or binomial times a scale phi. Source: McCullagh and Nelder, "Generalized
  /// Linear Models", 2nd edition (1989), 9.6, extended quasi-likelihood.
  bool quasi = false;
  int least_rows = 2;  ///< responses with fewer values are `too_few`

  [[nodiscard]] bool has_scale() const noexcept {
    return quasi || family == ManyFamily::gaussian || family == ManyFamily::gamma;
  }
};

struct ResponseFit {
  ManyStatus status = ManyStatus::failed;
  ManyReason reason = ManyReason::none;  ///< of the status `failed`
  int rows = 0;                          ///< rows with a value
  int iterations = 0;                    ///< outer iterations
  double mean = 0;
  double zeros = 0;  ///< fraction of zeros
  // Set only if the fit was begun and has not failed; otherwise `coef` is empty.
  std::vector<double> log_sp{};  ///< log smoothing parameters; infinite: the term is at its limit, `linear`
  double theta = 0;              ///< theta of nb; infinite: at the Poisson limit
  double scale = 1;              ///< phi
  double criterion = 0;          ///< -log REML, up to a constant that depends on the design
  double log_likelihood = 0;
  double deviance = 0;
  double null_deviance = 0;    ///< null model: an intercept and the offset
  std::vector<int> absent{};   ///< groups left out because their own curve tends to minus infinity
  std::vector<double> coef{};  ///< coefficients of the design; zero for columns left out
  // W has the expected weights here, as in mgcv; in the criterion, the observed weights. A large finite log
  // smoothing parameter replaces an infinite one, because tests of zero coefficients would be 0/0.
  std::vector<double> gram{};             ///< X'WX, packed
  std::vector<double> coef_of_tests{};    ///< coefficients at `log_sp_of_tests`
  std::vector<double> log_sp_of_tests{};  ///< `log_sp` with infinite values replaced
  std::vector<double> inverse{};  ///< (X'WX + S)^-1 = covariance / `scale`, packed; zero for columns left out
  [[nodiscard]] bool is_fitted() const noexcept { return !coef.empty(); }
};

/// A response's own weights and offsets, by row of the table; empty if none. Weights multiply the design's
/// weights; a row of weight zero is left out. Offsets are added to the design's offset.
struct RowAdjustments {
  std::span<const double> weights{};
  std::span<const double> offsets{};
};

/// Fits successive responses. At most 60 outer iterations, 100 Newton steps per trial point. Not thread-safe.
class ResponseFitter {
 public:
  /// `design` must outlive this object. By default the sums are computed on the calling thread.
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
