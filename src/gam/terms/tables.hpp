// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/component_kind.hpp"
#include "gam/basis/radial.hpp"

#include <cstdint>

/// Components as plain numbers, for host threads and kernels (see `ComponentTables`).
namespace TESSERA_NAMESPACE::gam {

/// One margin. Slots are its cells and the two linear extrapolations. Offsets are indices in
/// `ComponentTables::numbers`.
struct MarginTable {
  int cells = 0;
  int stride = 1;
  bool uniform = false;
  bool cyclic = false;
  bool alike = false;  ///< whether every cell has the same cubics
  double begin = 0;
  double end = 0;
  double inverse_step = 0;          ///< cells / (end - begin)
  std::int64_t breaks = 0;          ///< offset of the breaks: cells + 1
  std::int64_t origins = 0;         ///< offset of cells + 2 numbers: the x at which t is 0
  std::int64_t inverse_widths = 0;  ///< offset of cells + 2 numbers: inverse widths
  std::int64_t cubics = 0;          ///< offset of a spline's cubics: cells + 2, each 4 powers of t x 4 values
  // CPU only, for many nonuniform cells: a search begins in one of equal parts of [begin, end].
  int parts = 0;                   ///< 0: none
  int breaks_of_part = 0;          ///< maximum number of breaks in a part
  double inverse_part = 0;         ///< parts / (end - begin)
  std::int64_t breaks_before = 0;  ///< offset of the number of breaks before each part
};

/// A numeric component is the sum of (x - centre) * factor over its parts. Part i reads variable
/// `part_variables[part_begin + i]`; the numbers at `part_numbers` alternate centre and factor. For isotropic
/// dense columns, the parts are the variables.
struct ComponentTable {
  ComponentKind kind = ComponentKind::numeric;
  int variable = 0;
  int part_begin = 0;
  int parts = 0;
  std::int64_t part_numbers = 0;
  MarginTable margin;  ///< margin of a spline, or of dense columns that are cubics in its cells
  int columns = 0;     ///< number of dense columns
  /// For dense columns of a margin: cells + 2 cubics, each 4 powers of t x `columns`. For isotropic ones: the
  /// weights of their functions, in panels of four columns.
  std::int64_t combinations = 0;
  RadialFunction function{};
  int points = 0;
  int polynomials = 0;
  std::int64_t coordinates = 0;  ///< offset of the points' coordinates, by variable
  std::int64_t powers = 0;       ///< offset of the polynomials' exponents, one for each variable
};

}  // namespace TESSERA_NAMESPACE::gam
