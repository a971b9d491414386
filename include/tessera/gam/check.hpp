// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/fit.hpp>
#include <tessera/gam/model.hpp>
#include <tessera/gam/table.hpp>
#include <tessera/job/job.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Checks of a model against the rows of its fit, like mgcv's `k.check` and `concurvity`.
namespace TESSERA_NAMESPACE::gam {

struct CheckOptions {
  std::uint64_t seed = 1;              ///< seed for the sample, the permutations and the quantile residuals
  std::int64_t largest_sample = 5000;  ///< maximum number of rows for the check of bases; at least 4
  int permutations = 400;              ///< permutations for the p-values of the check of bases
  int largest_concurvity = 1000;       ///< maximum number of coefficients for which concurvity is computed
  int lags = 0;                        ///< number of lags of the autocorrelation of residuals; 0: none
  /// For the autocorrelation: a column that identifies the series of a row. Empty: the series of the model's
  /// `ar_start`, or a single series of all rows.
  std::string series{};
  MemoryOptions memory{};  ///< where the columns are stored
};

/// Whether a smooth's basis is large enough: a row of `k.check`.
struct BasisCheck {
  std::string label;
  int coefficients = 0;  ///< mgcv's k': number of coefficients
  double edf = 0;
  double k_index = 0;  ///< NaN for a smooth of factors, and so is the p-value
  double p_value = 0;
};

/// Summary of the deviance residuals, in rows of positive weight.
struct ResidualSummary {
  double mean = 0;
  double deviation = 0;  ///< standard deviation
  double skewness = 0;
  double kurtosis = 0;  ///< 3 for a normal distribution
  double least = 0;
  double quartiles[3]{};  ///< quartiles of the sample
  double largest = 0;
};

/// Randomised quantile residuals of the sample, sorted: standard normal quantiles of P(Y < y) + u P(Y = y)
/// with a uniform u. They are standard normal if the model is correct (Dunn and Smyth, J. Comput. Graph.
/// Stat. 5 (1996)). Excludes rows whose prior weight leaves the distribution undefined.
struct QuantileResiduals {
  std::vector<double> residuals;  ///< empty for a quasi family (variance function only)
  std::vector<double> normal;     ///< standard normal quantiles of (i - 1/2) / n
  std::vector<double> lower;      ///< bounds of the pointwise 95 % interval of each residual
  std::vector<double> upper;
};

struct Concurvity {
  /// How well other components can represent a component, from 0 (not at all) to 1 (exactly), by the three
  /// measures of mgcv's `concurvity`: for the worst function of its space, for the fitted function
  /// (`observed`), and for the basis as a whole (`estimate`).
  struct Values {
    double worst = 0;
    double observed = 0;
    double estimate = 0;
  };
  /// Components: "para" (all parametric terms), then the smooths; for a second linear predictor "para.1" and
  /// its smooths. Empty: not computed.
  std::vector<std::string> labels;
  std::vector<Values> whole;     ///< concurvity of each component with all others of its linear predictor
  std::vector<Values> pairwise;  ///< concurvity of component j with component i, at index i * labels.size() +
                                 ///< j; 1 if i = j; NaN for different linear predictors
};

struct Check {
  std::int64_t rows = 0;
  std::int64_t sample = 0;  ///< number of rows in the check of bases
  std::vector<BasisCheck> bases;
  ResidualSummary residuals;
  QuantileResiduals quantile_residuals{};
  /// Sum of squared Pearson or deviance residuals over the residual degrees of freedom; NaN: unknown.
  double pearson_dispersion = 0;
  double deviance_dispersion = 0;
  /// Number of zero responses, with its expectation and standard deviation under the model, for families of
  /// counts and for Tweedie.
  struct Zeros {
    double observed = 0;
    double expected = 0;
    double deviation = 0;
  };
  std::optional<Zeros> zeros{};  ///< empty for other families, and with prior weights
  Concurvity concurvity{};
  std::vector<double> autocorrelation{};  ///< autocorrelation at lags 1, 2, …; empty: not requested
};

/// *Collective.* Checks a model against its table, whose complete rows and responses must be those of the
/// fit. The table is read once, into memory or scratch files. Its rows are scanned twice, for residuals and
/// for concurvity, and once more for autocorrelation, on the job's host threads; each scan is reported to
/// `observer`. The bits do not depend on the number of ranks and threads. The result is complete on rank 0;
/// other ranks get an empty one.
///
/// Throws the same `Error` on every rank: `usage` for invalid options, `input` for a missing column, or for
/// rows that differ from the rows of the fit. Blocks. Cost: 3 p^2 operations per row for the concurvity of p
/// coefficients.
[[nodiscard]] TESSERA_EXPORT Check check(Job& job, const Model& model, const Table& table,
                                         const CheckOptions& options = {}, FitObserver* observer = nullptr);

}  // namespace TESSERA_NAMESPACE::gam
