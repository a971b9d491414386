// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/row_pass.hpp"

#include <tessera/gam/matrix.hpp>
#include <tessera/job/job.hpp>
#include <tessera/partition/plan.hpp>

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

/// The triangular factor R of the model matrix X. Unlike the crossproduct X'X, R does not square the
/// condition number.
namespace TESSERA_NAMESPACE::gam {

/// Tall-skinny QR: R factors of blocks of rows, joined in a binary tree, block 2k with block 2k + 1 first.
/// The tree, and so the bits of the result, depends only on the block numbers. At most two factors per level
/// wait for their partners. Source: Demmel, Grigori, Hoemmen and Langou, SIAM J. Sci. Comput. 34 (2012).
class TriangleTree {
 public:
  /// Adds the factor of a block; it has no rows if the block has no complete row. Thread-safe.
  void add(std::int64_t block, Matrix triangle) { add({0, block}, std::move(triangle)); }
  /// Serialises the waiting factors, for `add_numbers` on another rank.
  [[nodiscard]] std::vector<double> numbers() const;
  void add_numbers(std::span<const double> numbers);
  /// The factor of all blocks, which must all have been added. It has at most one row per column.
  [[nodiscard]] Matrix whole();

 private:
  using Node = std::pair<int, std::int64_t>;  ///< level, and index in the level
  void add(Node node, Matrix triangle);

  std::mutex mutex_;
  std::map<Node, Matrix> waiting_;
};

/// *Collective.* R of the complete rows of the model matrix, by one scan of the rows on the CPU. On rank 0;
/// empty on other ranks. `plan` defines the blocks. Cost: 3 p^2 operations per row for p columns. Memory:
/// about 5 p^2 numbers per thread, and two factors per level of the tree.
[[nodiscard]] Matrix row_triangle(Job& job, const Plan& plan, const Rows& rows);

}  // namespace TESSERA_NAMESPACE::gam
