// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/tables.hpp"

#include <cstdint>

namespace tessera::gam {

inline constexpr int threads_per_block = 128;

/// The columns of the rows at hand, by the frame's variable indices.
struct ColumnsView {
  const double* const* numbers;
  const std::int32_t* const* codes;
  const std::uint8_t* complete;
};

/// What a kernel reads to evaluate the terms of the rows at hand.
struct RowsView {
  const double* numbers;             ///< of the layout
  const ComponentTable* components;  ///< for what the data say of the margins
  const double* raw_coef;            ///< not read for moments
  ColumnsView columns;
  double response_factor;    ///< of the response and the offsets
  const double* parameters;  ///< of the family
};

}  // namespace tessera::gam
