// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/chunk.hpp"
#include "gam/rows/prediction.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Predictions of rows on the CPU, a few hundred at a time. Each row's arithmetic has a fixed order, so its
/// bits do not depend on other rows.
class HostPrediction {
 public:
  /// `form`: see `variance_form`; empty: no standard errors. All arguments must outlive this object.
  HostPrediction(const Rows& rows, const RowLayout& layout, std::span<const double> raw_coef,
                 std::span<const double> form, const Posterior& posterior);

  /// Predicts local rows [begin, end); `out` has an element for each column of output, row by row. Elements
  /// of incomplete rows are unchanged. Thread-safe.
  void predict(std::size_t begin, std::size_t end, std::span<Prediction> out) const;

 private:
  /// The columns of output of a chunk, one after the other.
  using Columns = std::span<double>;
  void add_term(int term, std::span<const double> raw, RowChunk& chunk, Columns to) const;
  void add_product(const Product& product, RowChunk& chunk, Columns variances) const;
  void apply(const Product& product, const RowChunk& chunk, std::span<double> variances) const;
  /// For each row, adds the term's value to the output column that the term has in that row.
  void add_by_rows(int term, const RowChunk& chunk, std::span<const double> values, Columns to) const;

  const Rows& rows_;
  const RowLayout& layout_;
  LayoutView view_;
  RowEvaluator evaluator_;
  std::span<const double> raw_coef_;
  std::span<const double> form_;
  const Posterior& posterior_;
  /// Stands for an output column that depends on the row, as for smooths by a factor.
  static constexpr int by_rows = -2;
  /// Output columns of each term: several for a term that linear predictors share.
  std::vector<std::vector<int>> columns_of_term_;
};

/// Linear predictors at several coefficients, on the host.
class HostPredictors {
 public:
  /// `coefs`: one coefficient vector per column. Rows and layout must outlive this object.
  HostPredictors(const Rows& rows, const RowLayout& layout, const Matrix& coefs);

  /// Evaluates local rows [begin, end); `out` has an element for each column of `coefs`, row by row. Elements
  /// of incomplete rows are unchanged. Thread-safe.
  void evaluate(std::size_t begin, std::size_t end, std::span<double> out) const;

 private:
  const RowLayout& layout_;
  RowEvaluator evaluator_;
  Matrix raw_coefs_;
};

/// Rows of the model matrix, X = R M, on the host.
class HostDesignRows {
 public:
  /// The arguments must outlive this object.
  HostDesignRows(const Rows& rows, const RowLayout& layout);

  /// Evaluates local rows [begin, end); `out` has an element for each coefficient, row by row. Elements of
  /// incomplete rows are unchanged; coefficients without a term are 0. Thread-safe.
  void evaluate(std::size_t begin, std::size_t end, std::span<double> out) const;

 private:
  const Design& design_;
  const RowLayout& layout_;
  LayoutView view_;
  RowEvaluator evaluator_;
  struct Block {
    const CoefBlock* block;
    int term;
    Matrix map;  ///< transposed, so that the coefficients of a raw column are contiguous
  };
  std::vector<Block> blocks_;
};

}  // namespace TESSERA_NAMESPACE::gam
