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

/// Results of a fitted model other than predictions of a table. Every function takes a complete model, as
/// `load_model` returns it, which must be the same on every rank. Every function is *collective*, and
/// computes on the hosts of the job. Results do not depend on ranks and threads.
namespace TESSERA_NAMESPACE::gam {

/// Values of a column at which to predict.
struct ChosenValues {
  std::string column;
  std::vector<std::string> values;  ///< numbers, or levels of a factor
};

struct DataSlice {
  Table table;
  std::string typical;  ///< the columns with typical values: "z = 0.31, g = 'a'"; empty: none
};

/// A table for `predict`, with every combination of the chosen values, where the values of the last column
/// change fastest. Other columns that the formula reads have a typical value: the observation nearest to the
/// median, or the most frequent level. Throws `Error(usage)` for a column that the formula does not read, or
/// a text that is not a number; `Error(input)` if the model lacks typical values of a column.
[[nodiscard]] TESSERA_EXPORT DataSlice data_slice(const Job& job, const Model& model,
                                                  std::span<const ChosenValues> chosen);

struct SmoothOptions {
  std::optional<std::vector<std::string>> terms{};  ///< labels of smooths; nothing: all
  int points = 0;              ///< grid points per numeric variable; 0: 100 for smooths of one, 40 of two, 15
                               ///< of three, 6 of more
  double interval = 0.95;      ///< probability of the bands; 0: none
  int draws = 10'000;          ///< number of draws for simultaneous bands; 0: no such bands
  std::uint64_t seed = 1;      ///< seed of the draws
  bool unconditional = false;  ///< include the uncertainty of the smoothing parameters
};

/// *Collective.* Evaluates each smooth on a grid over the data, or, for a random effect, at its levels. A
/// smooth with a factor `by` variable is evaluated at each level of the factor, a smooth with a numeric one
/// at the value 1. `kept` has the smooth's label and the variables of all smooths, missing where the smooth
/// has no such variable. Columns: fit, se, lower, upper, lower.simultaneous and upper.simultaneous; the last
/// two contain the whole smooth with probability `interval`, by the quantile of the largest standardised
/// deviation on the grid over draws from the posterior distribution (Ruppert, Wand and Carroll,
/// Semiparametric Regression, 2003, sec. 6.5). Throws `Error(usage)` for a smooth that the model lacks.
[[nodiscard]] TESSERA_EXPORT Predictions smooth_estimates(Job& job, const Model& model,
                                                          const SmoothOptions& options = {});

struct DerivativeOptions : SmoothOptions {
  int order = 1;                         ///< 1 or 2
  std::vector<std::string> variables{};  ///< variables of differentiation; empty: each in turn
};

/// *Collective.* Like `smooth_estimates`, for the derivatives of smooths with respect to numeric variables;
/// `kept` names the variable. Derivatives of splines are exact; those of isotropic smooths of several
/// variables are central differences, and a remark says so.
[[nodiscard]] TESSERA_EXPORT Predictions derivatives(Job& job, const Model& model,
                                                     const DerivativeOptions& options = {});

/// *Collective.* Like `smooth_estimates`, for the differences of a smooth between all pairs of levels of a
/// factor, first minus second: for a smooth by a factor, a factor smooth or a tensor product with a random
/// effect. A level without a smooth, such as the first level of an ordered factor, counts as the zero
/// function.
[[nodiscard]] TESSERA_EXPORT Predictions level_differences(Job& job, const Model& model,
                                                           const SmoothOptions& options = {});

/// *Collective.* Linear predictors of the rows of one table minus those of another with the same number of
/// rows. Uses only the options terms, kept columns (of the first table), new levels, interval and
/// `unconditional`. The job must have `Policy::cpu`; both model matrices are in memory. The differences are
/// distributed over the ranks like predictions of the first table.
[[nodiscard]] TESSERA_EXPORT Predictions table_differences(Job& job, const Model& model, const Table& minuend,
                                                           const Table& subtrahend,
                                                           const PredictOptions& options = {});

struct SimulateOptions {
  int draws = 1;
  std::uint64_t seed = 1;
  bool unconditional = false;         ///< for coefficients: include the uncertainty of the smoothing
                                      ///< parameters
  bool posterior_predictive = false;  ///< for responses: draw the coefficients anew for each draw
  std::string weights{};  ///< for responses: the table's column of prior weights, or of trials; empty: 1
  NewLevels new_levels = NewLevels::mgcv;  ///< for responses: how unseen levels are treated
  std::vector<std::string> keep{};         ///< for responses: columns of the table to copy to the output
};

/// *Collective.* Draws from the posterior distribution of the coefficients, N(b, V), one row per draw, by a
/// generator whose numbers depend only on the seed and the draw. Throws `Error(usage)` for a model with an
/// incomplete covariance.
[[nodiscard]] TESSERA_EXPORT Predictions simulate_coefficients(Job& job, const Model& model,
                                                               const SimulateOptions& options = {});

/// *Collective.* Smooths on their grids at the draws of `simulate_coefficients`: one column `draw.1`, … per
/// draw. Uses only the options terms and points.
[[nodiscard]] TESSERA_EXPORT Predictions simulate_smooths(Job& job, const Model& model,
                                                          const SimulateOptions& options = {},
                                                          const SmoothOptions& smooths = {});

/// *Collective.* Draws new responses for the rows of a table: a column `draw.1`, … for each draw. Means are
/// the estimated ones, as in R's `simulate`, or those for the coefficients of each draw of
/// `simulate_coefficients`. The random numbers depend only on the seed, the row and the draw. (If covariates
/// are centred internally, the coefficients' draws differ from `simulate_coefficients`'.) `take` gets the
/// responses in parts, as in `predict_in_parts`. Returns the remarks. Throws `Error(usage)` for a family with
/// only a variance function; `Error(input)` for invalid weights.
TESSERA_EXPORT std::vector<std::string> simulate_responses(Job& job, const Model& model, const Table& table,
                                                           FunctionRef<void(const Predictions& part)> take,
                                                           const SimulateOptions& options = {},
                                                           FitObserver* observer = nullptr);

}  // namespace TESSERA_NAMESPACE::gam
