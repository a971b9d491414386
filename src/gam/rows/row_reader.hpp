// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/design/design.hpp"
#include "gam/rows/row_pass.hpp"
#include "gam/terms/point_values.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Reads single rows of a design on the CPU, by local index. The arguments must outlive the reader. Not
/// thread-safe: give each thread a copy; copies share the terms' tables.
class RowReader {
 public:
  RowReader(const Frame& frame, const Design& design);
  /// Adds the rows' offsets, scaled by `response_factor`.
  explicit RowReader(const Rows& rows);

  /// R(row, .) raw_coef, plus offsets.
  [[nodiscard]] double linear_predictor(std::size_t row, std::span<const double> raw_coef);
  /// All linear predictors of a row, including shared terms.
  void linear_predictors(std::size_t row, std::span<const double> raw_coef, std::span<double> eta);
  /// raw = R(row, .).
  void raw_row(std::size_t row, std::span<double> raw);
  /// x = M' R(row, .), the row of the model matrix.
  void coefficient_row(std::size_t row, std::span<double> x);

 private:
  struct Nonzero {
    int column;
    double value;
  };
  void read(std::size_t row);

  const Frame& frame_;
  const Design& design_;
  std::vector<std::vector<int>> offsets_;  ///< by predictor; may have fewer entries
  double response_factor_ = 1;
  std::vector<NumberView> numbers_;
  std::vector<const std::int32_t*> codes_;
  std::vector<TermEvaluator> terms_;
  std::vector<Nonzero> nonzeros_;
  std::vector<double> dense_;        ///< columns of one term, including zeros
  std::vector<std::size_t> begins_;  ///< index of each term's first nonzero
};

}  // namespace TESSERA_NAMESPACE::gam
