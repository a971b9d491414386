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

/// Tests of the curves of many models, e.g. of a gene's expression along the lineages of its cells. A curve
/// is a smooth of one number with a by variable: at a level of a factor, or where a number is 1 and the by
/// numbers of the other curves are 0. Without by variables, all smooths of one number are curves. The tests
/// are those of tradeSeq (Van den Berge et al., Nature Communications 11 (2020), 1201).
namespace TESSERA_NAMESPACE::gam {

enum class CurveTest : std::uint8_t {
  association,   ///< whether each curve is constant: its points against the first (associationTest)
  start_vs_end,  ///< whether each curve ends where it starts (startVsEndTest)
  diff_end,      ///< whether each pair of curves ends at one value (diffEndTest)
  pattern,       ///< whether each pair of curves is the same at its points (patternTest); with `start` and
                 ///< `end`, within a part of the curves (earlyDETest)
  condition      ///< whether the curves of one variable are the same at its knots (conditionTest), or, for
                 ///< other bases than cr and cs, at points of the range that both have; with `start` and
                 ///< `end`, within a part of it
};

/// Contrasts that are tested together: the weights of coefficients by their names, those of others being 0.
using NamedContrasts = std::vector<std::map<std::string, double>>;

struct CurveTestOptions {
  CurveTest test = CurveTest::association;
  /// In place of a test: contrasts by the name of their test. `terms`, `points`, `start` and `end` are
  /// unused.
  std::map<std::string, NamedContrasts> contrasts{};
  std::optional<std::vector<std::string>> terms{};  ///< labels of the curves; nothing: all
  /// Number of points of each curve, equally spaced; 0: twice the largest number of basis functions.
  int points = 0;
  /// Curves run from the least value of all curves in the data to their own greatest one, cut at these; those
  /// of pattern from their own least value, if that is later than at a hundredth of the curve.
  std::optional<double> start{};
  std::optional<double> end{};
  /// Differences up to this log2 fold change count as zero. Needs a log link.
  double l2fc = 0;
  /// Eigenvalues of the covariance of the contrasts up to this share of the largest count as zero.
  double rank_tolerance = 0.01;
};

/// *Collective.* Tests contrasts of the curves of each response. `fits` is the HDF5 file of `fit_many` with
/// covariances. With the contrasts e of a response and their covariance V, the statistic is e'V+e, where V+
/// is the inverse on the space of the larger eigenvalues of V; df is the dimension of this space.
///
/// `kept` has the names of the responses; the columns are statistic, df, p and q (adjusted for the false
/// discovery rate) of all curves together, and with ":CURVE", ":CURVE-CURVE" for a pair, or the name of given
/// contrasts, of each part; for condition also with ":VARIABLE" of all pairs of a variable with several. The
/// column "log2_fold_change:…" (with other links than log "difference:…", of the linear predictors) has the
/// second minus the first for start_vs_end, the first curve minus the second for diff_end, the value of a
/// single contrast, the mean absolute value over the points for association, and the median of these for
/// others. Values are NaN for a response that has not converged and for a curve at minus infinity, which is
/// left out of the common tests.
///
/// Throws the same `Error` on every rank: `usage` for curves or coefficients that the model lacks, curves
/// that cannot be paired and contrasts that it does not determine, `input` for a file without covariances.
[[nodiscard]] TESSERA_EXPORT Predictions test_curves(Job& job, const std::string& fits,
                                                     const CurveTestOptions& options = {});
/// *Collective.* Like the overload above, for results with covariances in memory.
[[nodiscard]] TESSERA_EXPORT Predictions test_curves(Job& job, const ManyResults& fits,
                                                     const CurveTestOptions& options = {});

struct CurveValueOptions {
  std::optional<std::vector<std::string>> terms{};  ///< as in `CurveTestOptions`; and so are the next three
  int points = 0;
  std::optional<double> start{};
  std::optional<double> end{};
  /// Standard scores of a response's values, (value - mean) / standard deviation, ready for clustering.
  bool scaled = false;
  /// Bounds of the pointwise credible interval of each mean with this probability; 0: none.
  double interval = 0;
};

/// *Collective.* The means of each response on its curves, without offsets and with other variables at
/// typical values, as tradeSeq's predictSmooth: a column "CURVE@POINT" for each point, with an interval
/// followed by "CURVE@POINT.lower" and "CURVE@POINT.upper". NaN for a response without a fit and a curve at
/// minus infinity. Throws like `test_curves`.
[[nodiscard]] TESSERA_EXPORT Predictions curve_values(Job& job, const std::string& fits,
                                                      const CurveValueOptions& options = {});
[[nodiscard]] TESSERA_EXPORT Predictions curve_values(Job& job, const ManyResults& fits,
                                                      const CurveValueOptions& options = {});

}  // namespace TESSERA_NAMESPACE::gam
