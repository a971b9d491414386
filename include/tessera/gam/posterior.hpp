// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/function.hpp>
#include <tessera/gam/model.hpp>
#include <tessera/gam/predict.hpp>
#include <tessera/gam/table.hpp>
#include <tessera/job/job.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// Results of a fitted model other than predictions of a table. Every function is *collective*, and takes a
/// complete model, such as that of `load_model`, which must be the same on every rank. All computations are
/// on hosts, but `simulate_responses` predicts like `predict`. Results do not depend on ranks and threads.
namespace TESSERA_NAMESPACE::gam {

/// A column of a `data_slice`, and its values.
struct ChosenValues {
  std::string column;
  std::vector<std::string> values;  ///< numbers, or levels of a factor
};

struct DataSlice {
  Table table;
  std::string typical;  ///< typical values of the other columns: "z = 0.31, g = 'a'"; empty: none
};

/// A table for `predict`, with every combination of the chosen values; the last column's values change
/// fastest. All other columns that the formula reads have a typical value: the observation nearest to the
/// median, or the most frequent level. Throws `Error(usage)` for a column that the formula does not read, or
/// a text that is not a number; `Error(input)` if the model has no typical value of a column.
[[nodiscard]] TESSERA_EXPORT DataSlice data_slice(const Job& job, const Model& model,
                                                  std::span<const ChosenValues> chosen);

struct SmoothOptions {
  std::optional<std::vector<std::string>> terms{};  ///< labels of smooths; nullopt: all
  int points = 0;  ///< grid points per numeric variable; 0: 100, 40, 15 or 6 for 1, 2, 3 or more variables
  double interval = 0.95;      ///< probability of the bands; 0: none
  int draws = 10'000;          ///< number of draws for simultaneous bands; 0: no simultaneous bands
  std::uint64_t seed = 1;      ///< seed of the draws
  bool unconditional = false;  ///< include the uncertainty of the smoothing parameters
};

/// *Collective.* Evaluates each smooth on a grid over the range of the data or, for a random effect, at its
/// levels. A smooth with a factor `by` variable is evaluated at each level of the factor, a smooth with a
/// numeric `by` variable at the value 1. `Predictions::kept` has the smooth's label and the variables of all
/// smooths; variables of other smooths are missing values. Columns: fit, se, lower, upper, lower.simultaneous
/// and upper.simultaneous. The last two contain the whole smooth with probability `interval`. They use the
/// quantile of the largest standardised deviation on the grid over draws from the posterior distribution
/// (Ruppert, Wand and Carroll, Semiparametric Regression, 2003, sec. 6.5). Throws `Error(usage)` for a smooth
/// that is not in the model.
[[nodiscard]] TESSERA_EXPORT Predictions smooth_estimates(Job& job, const Model& model,
                                                          const SmoothOptions& options = {});

struct DerivativeOptions : SmoothOptions {
  int order = 1;                         ///< 1 or 2
  std::vector<std::string> variables{};  ///< variables to differentiate by; empty: each in turn
};

/// *Collective.* Like `smooth_estimates`, for the derivatives of smooths with respect to numeric variables;
/// `kept` also has the name of the variable. Derivatives of splines are exact; those of `ds`, of `gp`, and of
/// thin plate splines of several variables are central differences, and a remark says so.
[[nodiscard]] TESSERA_EXPORT Predictions derivatives(Job& job, const Model& model,
                                                     const DerivativeOptions& options = {});

/// *Collective.* Like `smooth_estimates`, for the differences of a smooth between all pairs of levels of a
/// factor, first minus second: for a smooth by a factor, a factor smooth or a tensor product with a random
/// effect. A level without a smooth, such as the first level of an ordered factor, counts as the zero
/// function.
[[nodiscard]] TESSERA_EXPORT Predictions level_differences(Job& job, const Model& model,
                                                           const SmoothOptions& options = {});

/// *Collective.* Linear predictors of the rows of one table minus those of another table with the same number
/// of rows. Uses only the options `terms`, `exclude`, `keep` (of the first table), `new_levels`, `interval`
/// and `unconditional`. The job must have `Policy::cpu`. Memory: both model matrices. The differences are
/// distributed over the ranks like the rows of the first table.
[[nodiscard]] TESSERA_EXPORT Predictions table_differences(Job& job, const Model& model, const Table& minuend,
                                                           const Table& subtrahend,
                                                           const PredictOptions& options = {});

struct SimulateOptions {
  int draws = 1;
  std::uint64_t seed = 1;
  bool unconditional = false;         ///< coefficient draws include the uncertainty of smoothing parameters
  bool posterior_predictive = false;  ///< for responses: each draw has its own draw of the coefficients
  std::string weights{};  ///< for responses: column of prior weights or numbers of trials; empty: 1
  NewLevels new_levels = NewLevels::mgcv;  ///< for responses: how unseen levels are treated
  std::vector<std::string> keep{};         ///< for responses: columns of the table to copy to the output
};

/// *Collective.* Draws from the posterior distribution of the coefficients, N(b, V), one row per draw. The
/// random numbers depend only on the seed and the number of the draw. Throws `Error(usage)` for a model with
/// an incomplete covariance.
[[nodiscard]] TESSERA_EXPORT Predictions simulate_coefficients(Job& job, const Model& model,
                                                               const SimulateOptions& options = {});

/// *Collective.* Evaluates smooths on their grids with the coefficients of each draw of
/// `simulate_coefficients`: columns `draw.1`, …. Of `smooths`, uses only `terms` and `points`.
[[nodiscard]] TESSERA_EXPORT Predictions simulate_smooths(Job& job, const Model& model,
                                                          const SimulateOptions& options = {},
                                                          const SmoothOptions& smooths = {});

/// *Collective.* Draws new responses for the rows of a table: columns `draw.1`, …. The means are those of the
/// estimate, as in R's `simulate`, or those of a draw of the coefficients (`posterior_predictive`). The
/// random numbers depend only on the seed, the row and the number of the draw. (If covariates are centred
/// internally, the draws of the coefficients differ from those of `simulate_coefficients`.) `take` gets the
/// responses in parts, as in `predict_in_parts`. Returns the remarks. Throws `Error(usage)` for a family with
/// only a variance function; `Error(input)` for invalid weights.
TESSERA_EXPORT std::vector<std::string> simulate_responses(Job& job, const Model& model, const Table& table,
                                                           FunctionRef<void(const Predictions& part)> take,
                                                           const SimulateOptions& options = {},
                                                           FitObserver* observer = nullptr);

}  // namespace TESSERA_NAMESPACE::gam
