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

/// The triangle of the model matrix: R of its QR decomposition, which has all digits of its columns, where a
/// crossproduct has half of them.
namespace TESSERA_NAMESPACE::gam {

/// Triangles of blocks of rows, reduced pairwise: that of block 2k with that of block 2k + 1, and so on
/// (Demmel, Grigori, Hoemmen and Langou, SIAM J. Sci. Comput. 34 (2012): TSQR). Who has which pair joins is a
/// matter of the blocks' numbers alone, and so are the bits. At most two triangles of each size wait for
/// another one.
class TriangleTree {
 public:
  /// The triangle of a block; of no rows, if it has no complete one. Thread-safe.
  void add(std::int64_t block, Matrix triangle) { add({0, block}, std::move(triangle)); }
  /// What waits, as numbers to send, and back.
  [[nodiscard]] std::vector<double> numbers() const;
  void add_numbers(std::span<const double> numbers);
  /// The triangle of all blocks, of which there are none left out; at most one row a column.
  [[nodiscard]] Matrix whole();

 private:
  using Node = std::pair<int, std::int64_t>;  ///< level, and place in it
  void add(Node node, Matrix triangle);

  std::mutex mutex_;
  std::map<Node, Matrix> waiting_;
};

/// *Collective.* The triangle of the model matrix's complete rows, by one look at the rows on the job's
/// hosts; on rank 0, an empty matrix on the others. `plan` has its blocks. Cost: 3 p^2 operations a row of p
/// columns; memory: some 5 p^2 numbers for each thread, and two triangles for each doubling of the blocks.
[[nodiscard]] Matrix row_triangle(Job& job, const Plan& plan, const Rows& rows);

}  // namespace TESSERA_NAMESPACE::gam
