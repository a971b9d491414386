// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/tables.hpp"

#include <cstdint>

/// What the host hands to the kernel that forms products of splines on matrix units: plain structures, the
/// same on both sides. crossproduct.cuh has the algorithm.
namespace TESSERA_NAMESPACE::gam {

/// Columns of a spline come in quads. A row's four nonzeros lie in one quad or in two neighbours: a window.
inline constexpr int quad_columns = 4;
/// Columns without a spline, the residual among them, that a group multiplies its splines by.
inline constexpr int cross_dense_columns = 4;
/// Rows of a chunk: a multiple of the step, two for each lane of a warp; at most the limit, since a sort
/// counts in 8 bits.
inline constexpr int cross_rows_step = 64;
inline constexpr int cross_rows_limit = 192;
/// The number of a value's quad is kept in the lowest bits of its mantissa.
inline constexpr int cross_quads_limit = 7;

/// Sizes of the kernel's arrays, which it is compiled for.
struct CrossShape {
  int terms = 0;    ///< of a group at most
  int windows = 0;  ///< of a term at most
  int halves = 0;   ///< eights of rows of the matrix units that a task has for its leaves
  int tiles = 0;    ///< sixteens of them in all, with those of its other products
  int warps = 0;    ///< of a block
  int tables = 0;   ///< numbers of the cubics of a group's terms at most
  int rows = 0;     ///< of a chunk, which lie in shared memory together
};

/// A spline term of a group.
struct CrossTerm {
  int component = 0;    ///< of the layout
  int columns = 0;      ///< raw columns
  int windows = 0;      ///< one less than its quads, and at least one
  bool centre = false;  ///< of some task: the rows are sorted by its windows
};

/// Where products with the centre lie among the sums: those of its column c and another column o at
/// `begin + c * centre_step + o * other_step`.
struct CrossSums {
  std::int64_t begin = -1;  ///< -1: nowhere
  int centre_step = 0;
  int other_step = 0;
};

/// What one warp forms: products of a centre with quads of two leaves, with itself, with the dense columns.
struct CrossTask {
  enum class Kind { none, pair, pair_own, pair_dense, own_dense, dense };
  Kind kind = Kind::none;
  int centre = 0;          ///< among the group's terms, as the leaves
  int leaves[2] = {};      ///< may be the same
  int first_quad[2] = {};  ///< of the leaves
  int end_quad[2] = {};    ///< the sums of those before are this task's
  CrossSums pairs[2];      ///< with the leaves
  CrossSums own;           ///< other_step counts from the centre's column
  CrossSums dense[cross_dense_columns];

  [[nodiscard]] constexpr bool has_leaves() const {
    return kind == Kind::pair || kind == Kind::pair_own || kind == Kind::pair_dense;
  }
  [[nodiscard]] constexpr bool has_own() const { return kind == Kind::pair_own || kind == Kind::own_dense; }
  [[nodiscard]] constexpr bool has_dense() const {
    return kind == Kind::pair_dense || kind == Kind::own_dense || kind == Kind::dense;
  }
};

/// Tasks that one CUDA block does together, a warp each, and the terms that they need.
struct CrossGroup {
  int term_begin = 0;
  int term_count = 0;
  int task_begin = 0;
};

struct CrossView {
  const CrossTerm* terms;
  const CrossTask* tasks;
  const CrossGroup* groups;
  std::int64_t residual_begin;  ///< of the wave's values, as in TermTable
};

/// Places of the rows of a chunk in the order of a term's windows, each filled up to fours, and then some
/// that are read ahead.
[[nodiscard]] constexpr int cross_order_length(int rows, int windows) {
  return (rows + 4 * windows + 16 + 7) / 8 * 8;
}

/// Slots of a margin with cubics of their own: its cells and both continuations, or one cell for all.
[[nodiscard]] constexpr int cross_cubic_slots(const MarginTable& margin) {
  return margin.alike ? 3 : margin.cells + 2;
}

/// Numbers of a margin in shared memory: origins, inverse widths, breaks if they are uneven, cubics. Each of
/// them begins at an even place, so that two can be read at once.
[[nodiscard]] constexpr int cross_table_numbers(const MarginTable& margin) {
  const int slots = (margin.cells + 3) / 2 * 2;
  return 2 * slots + (margin.uniform ? 0 : slots) + 16 * cross_cubic_slots(margin);
}

}  // namespace TESSERA_NAMESPACE::gam
