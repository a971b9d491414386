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

/// Reads single rows of a design on the host, by local index. The arguments must outlive it. Not thread-safe:
/// each thread has a copy, which shares the tables of the design's terms.
class RowReader {
 public:
  RowReader(const Frame& frame, const Design& design);
  /// Includes the rows' offsets, in the units of the fit.
  explicit RowReader(const Rows& rows);

  /// R(row, .) coef plus the offsets.
  [[nodiscard]] double linear_predictor(std::size_t row, std::span<const double> raw_coef);
  /// raw = R(row, .), with its zeros.
  void raw_row(std::size_t row, std::span<double> raw);
  /// x = M' R(row, .), over coefficients.
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
  std::vector<int> offsets_;
  double response_factor_ = 1;
  std::vector<NumberView> numbers_;
  std::vector<const std::int32_t*> codes_;
  std::vector<TermEvaluator> terms_;
  std::vector<Nonzero> nonzeros_;
  std::vector<double> dense_;        ///< columns of one term
  std::vector<std::size_t> begins_;  ///< where each term begins among the nonzeros
};

}  // namespace TESSERA_NAMESPACE::gam
