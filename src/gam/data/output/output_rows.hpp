// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"

#include <tessera/partition/plan.hpp>

#include <cstdint>
#include <span>
#include <string>

/// Rows that are written to a file.
namespace TESSERA_NAMESPACE::gam {

struct OutputColumn {
  std::string name;
  Variable values;                   ///< of this rank's rows
  bool with_all_digits = false;      ///< in text numbers have 17 digits; else as few as give the same bits
  bool has_constant_levels = false;  ///< its levels are the same in all parts
};

/// A part of a table, in the order of its rows; the columns are the same on every rank and in every part.
struct OutputRows {
  const Plan& plan;             ///< the division of the part's rows
  std::int64_t first_row = 0;   ///< the first of them, among the table's
  std::int64_t table_rows = 0;  ///< of all parts
  std::span<const OutputColumn> columns;
};

}  // namespace TESSERA_NAMESPACE::gam
