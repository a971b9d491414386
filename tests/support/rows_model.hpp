// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gam/family/list.hpp"
#include "gam/rows/prediction.hpp"
#include "gam/rows/row_pass.hpp"

/// A synthetic model with every kind of term, and the sums over its rows by definition: dense rows of R, in
/// long double, without a table or a kernel of the code under test.
namespace rows_test {

struct ModelOptions {
  tessera::gam::Family family = tessera::gam::Gaussian{};
  std::int64_t rows = 600;
  std::uint64_t seed = 1;
  bool offsets = true;
  bool weights = true;
  std::size_t terms = 13;  ///< the first so many of them; 14 has three splines, and is slow to check
  bool dense = false;      ///< adds dense columns: combinations of terms 7 and 8, with 7 only in them
  bool curves = false;     ///< adds terms of a dense component: by itself, by a factor and by a number
  bool limits = false;     ///< responses are censored: second numbers of every kind
  bool missing = true;     ///< about one row in ten is incomplete, with NaN and -1 in it
};

/// Owns what `Rows` points to.
struct Model {
  tessera::gam::Frame frame;  ///< all rows of the job
  tessera::gam::Design design;
  std::vector<double> raw_coef;
  tessera::gam::Family family = tessera::gam::Gaussian{};
  int response = 0;
  int limit = -1;
  std::vector<int> offsets;
  std::vector<std::vector<int>> further_offsets;
  int prior_weight = -1;
  tessera::gam::Series series;

  /// The rows of `frame`, which is this model's frame or a part of it.
  [[nodiscard]] tessera::gam::Rows rows_of(const tessera::gam::Frame& part) const;
};

[[nodiscard]] Model make_model(const ModelOptions& options);

/// A model of an intercept, a numeric column and this many splines, with a variable each.
[[nodiscard]] Model make_splines(const ModelOptions& options, int count);

/// A model of `make_model` of a family with several linear predictors, which have its terms in turn, and each
/// an offset of its own.
[[nodiscard]] Model make_several(const ModelOptions& options);

/// Gives the rows a correlation, in series that begin where the first factor of the frame changes, or at row
/// numbers that are multiples of 37; adds a variable that marks their beginnings.
void add_series(Model& model, double rho, bool by_factor);

/// Gives the model coefficients: two blocks of five that divide the raw columns at an odd column, each with a
/// map of arbitrary numbers.
void add_blocks(Model& model);
/// Arbitrary coefficients of such a model, and a positive definite covariance.
[[nodiscard]] tessera::gam::Posterior posterior_of(const Model& model, bool response);

/// The rows of `range` as the frame of a rank that has only these.
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
  long double largest = 0;  ///< of the sums of absolute values: what rounding errors are measured by
};

enum class DenseStep { start, step };
[[nodiscard]] DenseSums dense_sums(const Model& model, DenseStep kind);

/// Fails the test where `sums` are not the dense ones to `tolerance` times the largest.
void expect_near(const tessera::gam::RawSums& sums, const DenseSums& dense, double tolerance);
void expect_near(const tessera::gam::RawMoments& moments, const DenseSums& dense, double tolerance);
/// Fails the test where two sums differ in one bit.
void expect_same_bits(const tessera::gam::RawSums& a, const tessera::gam::RawSums& b);

/// The built-in families, and one with a link other than its default; and the name of each one's test.
[[nodiscard]] std::vector<tessera::gam::Family> families();
/// Each family with several linear predictors.
[[nodiscard]] std::vector<tessera::gam::Family> several_families();
[[nodiscard]] std::string name_of(const tessera::gam::Family& family);

}  // namespace rows_test
