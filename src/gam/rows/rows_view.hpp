// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/tables.hpp"

#include <cstdint>

namespace TESSERA_NAMESPACE::gam {

inline constexpr int threads_per_block = 128;

/// The columns of the rows in memory, indexed like the frame's variables.
struct ColumnsView {
  const double* const* numbers;
  const std::int32_t* const* codes;
  const std::uint8_t* complete;
};

/// The arguments with which a kernel evaluates the terms of the rows in memory.
struct RowsView {
  const double* numbers;             ///< `numbers` of the layout's tables
  const ComponentTable* components;  ///< for quantities of margins that depend on the data
  const double* raw_coef;            ///< not read for moments
  ColumnsView columns;
  double response_factor;    ///< factor of the response and the offsets
  const double* parameters;  ///< of the family; with several linear predictors those of the null model
};

}  // namespace TESSERA_NAMESPACE::gam
