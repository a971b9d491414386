// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/chunk.hpp"
#include "gam/rows/prediction.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Predictions on the CPU, in chunks of rows. A row's result does not depend on other rows.
class HostPrediction {
 public:
  /// `form`: see `variance_form`; if empty, no standard errors. All arguments must outlive this object.
  HostPrediction(const Rows& rows, const RowLayout& layout, std::span<const double> raw_coef,
                 std::span<const double> form, const Posterior& posterior);

  /// Predicts local rows [begin, end), row-major by output column; skips incomplete rows. Thread-safe.
  void predict(std::size_t begin, std::size_t end, std::span<Prediction> out) const;

 private:
  /// A chunk's output, column-major.
  using Columns = std::span<double>;
  void add_term(int term, std::span<const double> raw, RowChunk& chunk, Columns to) const;
  void add_product(const Product& product, RowChunk& chunk, Columns variances) const;
  void apply(const Product& product, const RowChunk& chunk, std::span<double> variances) const;
  /// Adds each row's value to the term's output column in that row.
  void add_by_rows(int term, const RowChunk& chunk, std::span<const double> values, Columns to) const;

  const Rows& rows_;
  const RowLayout& layout_;
  LayoutView view_;
  RowEvaluator evaluator_;
  std::span<const double> raw_coef_;
  std::span<const double> form_;
  const Posterior& posterior_;
  /// Marks an output column that depends on the row (smooths by a factor).
  static constexpr int by_rows = -2;
  /// Output columns by term; several if linear predictors share the term.
  std::vector<std::vector<int>> columns_of_term_;
};

/// Linear predictors for several coefficient vectors, on the CPU.
class HostPredictors {
 public:
  /// `coefs`: one coefficient vector per column. `rows` and `layout` must outlive this object.
  HostPredictors(const Rows& rows, const RowLayout& layout, const Matrix& coefs);

  /// Evaluates local rows [begin, end), row-major by column of `coefs`; skips incomplete rows. Thread-safe.
  void evaluate(std::size_t begin, std::size_t end, std::span<double> out) const;

 private:
  const RowLayout& layout_;
  RowEvaluator evaluator_;
  Matrix raw_coefs_;
};

/// Rows of the model matrix X = R M (raw columns R), on the CPU.
class HostDesignRows {
 public:
  /// The arguments must outlive this object.
  HostDesignRows(const Rows& rows, const RowLayout& layout);

  /// Evaluates local rows [begin, end). `out` is row-major, with an element for each coefficient (0 if no
  /// term has it); skips incomplete rows. Thread-safe.
  void evaluate(std::size_t begin, std::size_t end, std::span<double> out) const;

 private:
  const Design& design_;
  const RowLayout& layout_;
  LayoutView view_;
  RowEvaluator evaluator_;
  struct Block {
    const CoefBlock* block;
    int term;
    Matrix map;  ///< transposed: a raw column's coefficients are contiguous
  };
  std::vector<Block> blocks_;
};

}  // namespace TESSERA_NAMESPACE::gam
