// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/many.hpp>
#include <tessera/gam/predict.hpp>
#include <tessera/job/job.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// Tests of the curves of many models, e.g. of a gene's expression along the lineages of its cells. A *curve*
/// is a smooth of one numeric variable with a `by` variable, at one level of a factor `by`, or at the value 1
/// of a numeric `by`, with the numeric `by` variables of other curves at 0. Without `by` variables, all
/// smooths of one numeric variable are curves. The tests are those of tradeSeq (Van den Berge et al., Nature
/// Communications 11 (2020), 1201).
namespace TESSERA_NAMESPACE::gam {

enum class CurveTest : std::uint8_t {
  association,   ///< whether each curve is constant: its points are compared with the first (associationTest)
  start_vs_end,  ///< whether each curve ends where it starts (startVsEndTest)
  diff_end,      ///< whether each pair of curves ends at the same value (diffEndTest)
  pattern,   ///< whether each pair of curves is equal at all points (patternTest); with `start` and `end`,
             ///< within a part of the curves (earlyDETest)
  condition  ///< whether the curves of one variable are equal at the basis's knots (conditionTest) or, for
             ///< bases other than cr and cs, at points of the curves' common range; with `start` and `end`,
             ///< within a part of this range
};

/// Contrasts that are tested jointly. Each maps names of coefficients to weights; all other weights are 0.
using NamedContrasts = std::vector<std::map<std::string, double>>;

struct CurveTestOptions {
  CurveTest test = CurveTest::association;
  /// Contrasts to test instead of `test`, by a name for each joint test. `terms`, `points`, `start` and `end`
  /// are then unused.
  std::map<std::string, NamedContrasts> contrasts{};
  std::optional<std::vector<std::string>> terms{};  ///< labels of the curves; nullopt: all
  /// Number of points of each curve, equally spaced; 0: twice the largest number of basis functions.
  int points = 0;
  /// Limits of the curves' variable. By default a curve runs from the least value in the data of all curves
  /// to the greatest value in its own data. For pattern and condition, a curve begins with the least value in
  /// its own data if this skips at least a hundredth of its range.
  std::optional<double> start{};
  std::optional<double> end{};
  /// Differences up to this log2 fold change count as zero. Requires a log link.
  double l2fc = 0;
  /// Tolerance of the numerical rank: eigenvalues of the contrasts' covariance count as zero up to this
  /// fraction of the largest one.
  double rank_tolerance = 0.01;
};

/// *Collective.* Tests contrasts of the curves of each response. `fits` is the HDF5 file of `fit_many` with
/// covariances. With the contrasts e of a response and their covariance V, the statistic is e'V+e, where V+
/// is the pseudoinverse of V with `CurveTestOptions::rank_tolerance`; df is the rank of V.
///
/// `Predictions::kept` has the names of the responses. The columns are statistic, df, p and q (p adjusted for
/// the false discovery rate):
/// - without suffix: for all curves jointly;
/// - with ":CURVE", ":CURVE-CURVE" or the name of given contrasts: for one curve, one pair, or these
///   contrasts;
/// - with ":VARIABLE", for condition: for all pairs of curves of a variable, if there are several variables
///   and pairs.
///
/// Further columns are "log2_fold_change:…" ("difference:…" of the linear predictors with other links than
/// log): the second minus the first value for start_vs_end, the first curve minus the second for diff_end,
/// the value of a single contrast, the mean absolute value over the points for association, and the median
/// absolute value for all other tests.
///
/// Values are NaN for a response without a fit, and for a curve at minus infinity (`load_model`), which the
/// joint tests exclude.
///
/// Throws the same `Error` on every rank: `usage` for curves or coefficients that the model does not have,
/// for curves that cannot be paired, and for contrasts that the model does not determine; `input` for a file
/// without covariances.
[[nodiscard]] TESSERA_EXPORT Predictions test_curves(Job& job, const std::string& fits,
                                                     const CurveTestOptions& options = {});
/// *Collective.* Like the overload above, for results with covariances in memory.
[[nodiscard]] TESSERA_EXPORT Predictions test_curves(Job& job, const ManyResults& fits,
                                                     const CurveTestOptions& options = {});

struct CurveValueOptions {
  /// `terms`, `points`, `start` and `end`: as in `CurveTestOptions`, with the range of pattern.
  std::optional<std::vector<std::string>> terms{};
  int points = 0;
  std::optional<double> start{};
  std::optional<double> end{};
  /// Standardise the values of each response, (value - mean) / standard deviation, for clustering.
  bool scaled = false;
  /// Probability of the pointwise credible interval of each mean; 0: no interval.
  double interval = 0;
};

/// *Collective.* The mean of each response at points of its curves, without offsets and with other variables
/// at typical values, like tradeSeq's predictSmooth. Each point has a column "CURVE@POINT" and, with an
/// interval, "CURVE@POINT.lower" and "CURVE@POINT.upper". NaN for a response without a fit, and for a curve
/// at minus infinity. Throws like `test_curves`.
[[nodiscard]] TESSERA_EXPORT Predictions curve_values(Job& job, const std::string& fits,
                                                      const CurveValueOptions& options = {});
[[nodiscard]] TESSERA_EXPORT Predictions curve_values(Job& job, const ManyResults& fits,
                                                      const CurveValueOptions& options = {});

}  // namespace TESSERA_NAMESPACE::gam
