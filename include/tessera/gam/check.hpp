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
  std::uint64_t seed = 1;              ///< seed of the sample, the permutations and quantile residuals
  std::int64_t largest_sample = 5000;  ///< maximum number of rows for the check of bases; at least 4
  int permutations = 400;              ///< permutations for the p-values of the check of bases
  int largest_concurvity = 1000;       ///< maximum number of coefficients for which concurvity is computed
  int lags = 0;                        ///< number of lags of the autocorrelation of residuals; 0: none
  /// For the autocorrelation: a column that identifies the series of a row; empty: all rows are one series,
  /// or the series begin by the model's `ar_start`.
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

/// Randomised quantile residuals of the sample, sorted. Each is the normal quantile of P(Y < y) + u P(Y = y)
/// with a uniform u, and standard normal if the model is correct (Dunn and Smyth, J. Comput. Graph. Stat. 5
/// (1996)). Excludes rows whose prior weight leaves the distribution unknown.
struct QuantileResiduals {
  std::vector<double> residuals;  ///< empty for a family with only a variance function
  std::vector<double> normal;     ///< the quantiles of (i - 1/2) / n
  std::vector<double> lower;      ///< bounds that contain each residual with probability 0.95
  std::vector<double> upper;
};

struct Concurvity {
  /// How well other components can represent this component, from 0 (not at all) to 1 (exactly), by the three
  /// measures of mgcv's `concurvity`: in the worst case, for the fitted function (`observed`), and for the
  /// basis as a whole (`estimate`).
  struct Values {
    double worst = 0;
    double observed = 0;
    double estimate = 0;
  };
  /// "para", then the smooths; of the second linear predictor "para.1" and its smooths; empty: not computed.
  std::vector<std::string> labels;
  std::vector<Values> whole;     ///< concurvity of each component with all others of its linear predictor
  std::vector<Values> pairwise;  ///< concurvity of component j with component i, at index i * labels.size()
                                 ///< + j; 1 if i = j, NaN for components of different linear predictors
};

struct Check {
  std::int64_t rows = 0;
  std::int64_t sample = 0;  ///< number of rows in the check of bases
  std::vector<BasisCheck> bases;
  ResidualSummary residuals;
  QuantileResiduals quantile_residuals{};
  /// Sum of squared residuals over the residual degrees of freedom; NaN: unknown.
  double pearson_dispersion = 0;
  double deviance_dispersion = 0;
  /// Number of zero responses, its expectation under a model of counts or Tweedie responses, and its standard
  /// deviation.
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
/// fit. The table is read once, into memory or scratch files; its rows are scanned twice, for residuals and
/// for concurvity, and once more for autocorrelation, each time on the job's host threads and reported to
/// the observer. The bits do not depend on ranks and threads. The result is complete on rank 0; other ranks
/// get an empty one.
///
/// Throws the same `Error` on every rank: `usage` for invalid options, `input` for a missing column, or for
/// rows other than those of the fit. Blocks. Cost: 3 p^2 operations per row for the concurvity of p
/// coefficients.
[[nodiscard]] TESSERA_EXPORT Check check(Job& job, const Model& model, const Table& table,
                                         const CheckOptions& options = {}, FitObserver* observer = nullptr);

}  // namespace TESSERA_NAMESPACE::gam
