// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gam/family/list.hpp"
#include "gam/rows/prediction.hpp"
#include "gam/rows/row_pass.hpp"

/// A synthetic model with every kind of term, and reference sums over its rows. The reference uses dense rows
/// of the raw model matrix R in long double, without code under test.
namespace rows_test {

struct ModelOptions {
  tessera::gam::Family family = tessera::gam::Gaussian{};
  std::int64_t rows = 600;
  std::uint64_t seed = 1;
  bool offsets = true;
  bool weights = true;
  std::size_t terms = 13;  ///< number of terms; the 14th has three splines, slow to check
  bool dense = false;      ///< adds dense combinations of terms[7] (used only there) and terms[8]
  bool curves = false;     ///< adds terms with dense components: alone, by a factor and by a number
  bool limits = false;     ///< adds exact, censored and interval responses
  bool missing = true;     ///< about one row in ten is incomplete: NaN, and codes of -1
};

/// Owns what `Rows` points to.
struct Model {
  tessera::gam::Frame frame;
  tessera::gam::Design design;
  std::vector<double> raw_coef;
  tessera::gam::Family family = tessera::gam::Gaussian{};
  int response = 0;
  int limit = -1;
  std::vector<int> offsets;
  std::vector<std::vector<int>> further_offsets;
  int prior_weight = -1;
  tessera::gam::Series series;

  /// `part`: this model's frame or a part of it.
  [[nodiscard]] tessera::gam::Rows rows_of(const tessera::gam::Frame& part) const;
};

[[nodiscard]] Model make_model(const ModelOptions& options);

/// A model of an intercept, a numeric column and `count` splines of different variables.
[[nodiscard]] Model make_splines(const ModelOptions& options, int count);

/// `make_model` for a family with several linear predictors. Terms are assigned to the predictors in turn;
/// each predictor has an offset.
[[nodiscard]] Model make_several(const ModelOptions& options);

/// Adds AR1 correlation `rho` within series, which begin where the first factor changes, or at row numbers
/// that are multiples of 37. Adds a variable that marks the first rows of series.
void add_series(Model& model, double rho, bool by_factor);

/// Adds two blocks of five coefficients with arbitrary maps. They divide the raw columns at an odd column.
void add_blocks(Model& model);
/// Arbitrary coefficients, and a positive definite covariance, for a model with `add_blocks`.
[[nodiscard]] tessera::gam::Posterior posterior_of(const Model& model, bool response);

/// The frame of a rank that holds only the rows of `range`.
[[nodiscard]] tessera::gam::Frame part_of(const tessera::gam::Frame& whole, tessera::Range range);

/// A dense row of R by the definitions in design.hpp.
[[nodiscard]] std::vector<long double> dense_row(const Model& model, std::size_t row);

struct DenseSums {
  std::vector<long double> gram;  ///< raw x raw
  std::vector<long double> gradient;
  long double residual = 0;
  long double deviance = 0;
  std::vector<long double> column_sums;
  long double sum_weight = 0;
  long double sum_weighted_response = 0;
  long double largest = 0;  ///< largest sum of absolute values: the scale of rounding errors
};

enum class DenseStep { start, step };
[[nodiscard]] DenseSums dense_sums(const Model& model, DenseStep kind);

/// Expects equal sums within `tolerance` times `dense.largest`.
void expect_near(const tessera::gam::RawSums& sums, const DenseSums& dense, double tolerance);
void expect_near(const tessera::gam::RawMoments& moments, const DenseSums& dense, double tolerance);
void expect_same_bits(const tessera::gam::RawSums& a, const tessera::gam::RawSums& b);

/// The built-in families, and binomial(cauchit).
[[nodiscard]] std::vector<tessera::gam::Family> families();
/// All families with several linear predictors, and a user-defined one.
[[nodiscard]] std::vector<tessera::gam::Family> several_families();
[[nodiscard]] std::string name_of(const tessera::gam::Family& family);

}  // namespace rows_test
