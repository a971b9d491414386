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

/// The triangular factor R in a QR decomposition of the model matrix, accurate to all digits of its columns,
/// where a crossproduct has half of them.
namespace TESSERA_NAMESPACE::gam {

/// Triangular factors of blocks of rows, reduced pairwise: of block 2k with block 2k + 1, and so on (Demmel,
/// Grigori, Hoemmen and Langou, SIAM J. Sci. Comput. 34 (2012): TSQR). The pairing, and with it the bits,
/// depends only on the block numbers. At most two factors of each level wait for their partners.
class TriangleTree {
 public:
  /// The factor of a block; without rows if the block has no complete one. Thread-safe.
  void add(std::int64_t block, Matrix triangle) { add({0, block}, std::move(triangle)); }
  /// The waiting factors as numbers, to send and receive.
  [[nodiscard]] std::vector<double> numbers() const;
  void add_numbers(std::span<const double> numbers);
  /// The factor of all blocks, none of which may be missing; at most one row per column.
  [[nodiscard]] Matrix whole();

 private:
  using Node = std::pair<int, std::int64_t>;  ///< level, and place in it
  void add(Node node, Matrix triangle);

  std::mutex mutex_;
  std::map<Node, Matrix> waiting_;
};

/// *Collective.* The triangular factor of the complete rows of the model matrix, by one scan of the rows on
/// the job's hosts; on rank 0, an empty matrix on the others. `plan` gives the blocks. Cost: 3 p^2 operations
/// a row of p columns; memory: some 5 p^2 numbers for each thread, and two factors for each doubling of the
/// blocks.
[[nodiscard]] Matrix row_triangle(Job& job, const Plan& plan, const Rows& rows);

}  // namespace TESSERA_NAMESPACE::gam
