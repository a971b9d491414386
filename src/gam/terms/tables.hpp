// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/component_kind.hpp"
#include "gam/basis/radial.hpp"

#include <cstdint>

/// Components as plain numbers, for host threads and kernels alike (see `ComponentTables`).
namespace TESSERA_NAMESPACE::gam {

/// One margin. Its two linear extrapolations count as cells. Members are offsets into the tables' numbers.
struct MarginTable {
  int cells = 0;
  int stride = 1;
  bool uniform = false;
  bool cyclic = false;
  bool alike = false;  ///< every cell has the same cubics
  double begin = 0;
  double end = 0;
  double inverse_step = 0;          ///< cells / (end - begin)
  std::int64_t breaks = 0;          ///< cells + 1
  std::int64_t origins = 0;         ///< cells + 2: where each cell's t is 0
  std::int64_t inverse_widths = 0;  ///< cells + 2
  std::int64_t cubics = 0;          ///< cubics of a spline: cells + 2, each 4 powers of t by 4 values
  // CPU only, many uneven cells: [begin, end] in equal parts, in which a search begins.
  int parts = 0;                   ///< 0: none
  int breaks_of_part = 0;          ///< maximum number of breaks in a part
  double inverse_part = 0;         ///< parts / (end - begin)
  std::int64_t breaks_before = 0;  ///< number of breaks before each part
};

/// A numeric component is the sum of (x - centre) * factor over its parts: their variables are
/// `part_variables[part_begin …]` of the tables; a centre and its factor are adjacent among the numbers. For
/// isotropic dense columns, without margin, the parts are the variables.
struct ComponentTable {
  ComponentKind kind = ComponentKind::numeric;
  int variable = 0;
  int part_begin = 0;
  int parts = 0;
  std::int64_t part_numbers = 0;
  MarginTable margin;  ///< margin of a spline, or of dense columns that are cubics in its cells
  int columns = 0;     ///< number of dense columns
  /// Dense columns of a margin: cells + 2, each 4 powers of t by `columns`. Isotropic ones: the weights of
  /// their functions, in panels of four columns.
  std::int64_t combinations = 0;
  RadialFunction function{};
  int points = 0;
  int polynomials = 0;
  std::int64_t coordinates = 0;  ///< coordinates of the points, by variable
  std::int64_t powers = 0;       ///< powers of the polynomials, a number for each variable
};

}  // namespace TESSERA_NAMESPACE::gam
