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

/// Reads single rows of a design on the host, by local index. The arguments must outlive the reader. Not
/// thread-safe: give each thread a copy; copies share the tables of the design's terms.
class RowReader {
 public:
  RowReader(const Frame& frame, const Design& design);
  /// Includes the rows' offsets, in the units of the fit.
  explicit RowReader(const Rows& rows);

  /// R(row, .) coef, plus the offsets if it was made from `Rows`.
  [[nodiscard]] double linear_predictor(std::size_t row, std::span<const double> raw_coef);
  /// Each linear predictor, likewise, including terms that predictors share.
  void linear_predictors(std::size_t row, std::span<const double> raw_coef, std::span<double> eta);
  /// Sets `raw` to R(row, .), including zeros.
  void raw_row(std::size_t row, std::span<double> raw);
  /// Sets `x` to M' R(row, .), by coefficient.
  void coefficient_row(std::size_t row, std::span<double> x);

 private:
  struct Nonzero {
    int column;
    double value;
  };
  /// Reads the nonzeros of all terms, in order.
  void read(std::size_t row);

  const Frame& frame_;
  const Design& design_;
  std::vector<std::vector<int>> offsets_;  ///< by predictor; later predictors may be missing, and have none
  double response_factor_ = 1;
  std::vector<NumberView> numbers_;
  std::vector<const std::int32_t*> codes_;
  std::vector<TermEvaluator> terms_;
  std::vector<Nonzero> nonzeros_;
  std::vector<double> dense_;        ///< columns of one term, including zeros
  std::vector<std::size_t> begins_;  ///< index of each term's first nonzero
};

}  // namespace TESSERA_NAMESPACE::gam
