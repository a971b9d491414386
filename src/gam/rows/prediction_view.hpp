// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/rows_view.hpp"

#include <cstdint>

namespace TESSERA_NAMESPACE::gam {

/// A part of a tile's rows, numbered `0 … count - 1`, with scratch arrays over `count` rows.
struct PredictionView : RowsView {
  const double* form;  ///< `variance_form`; not read without standard errors
  const Product* products;
  int product_count;
  std::int64_t first;  ///< first row of the part
  std::int64_t count;
  double* values;  ///< by nonzero of any term, then by row
  int* starts;     ///< by placement, then by row
  double* out;     ///< a row's prediction, then its standard error
};

}  // namespace TESSERA_NAMESPACE::gam
