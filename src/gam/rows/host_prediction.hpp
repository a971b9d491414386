// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/chunk.hpp"
#include "gam/rows/prediction.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace tessera::gam {

/// Predictions of rows on the host: a few hundred rows at a time, each row's arithmetic in an order of its
/// own, so that its bits do not depend on the rows beside it.
class HostPrediction {
 public:
  /// `form` is `variance_form`; empty: no standard errors. All outlive it.
  HostPrediction(const Rows& rows, const RowLayout& layout, std::span<const double> raw_coef,
                 std::span<const double> form, bool response);

  /// Local rows [begin, end), of which `out` has one element each. Incomplete ones are left as they are.
  /// Thread-safe.
  void predict(std::size_t begin, std::size_t end, std::span<Prediction> out) const;

 private:
  void add_product(const Product& product, const RowChunk& chunk, std::span<double> variances) const;

  const Rows& rows_;
  const RowLayout& layout_;
  LayoutView view_;
  RowEvaluator evaluator_;
  std::span<const double> raw_coef_;
  std::span<const double> form_;
  bool response_;
};

}  // namespace tessera::gam
