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

/// The triangular factor R of the QR decomposition of the model matrix. R keeps all digits of the columns,
/// while a crossproduct keeps half of them.
namespace TESSERA_NAMESPACE::gam {

/// Triangular factors of blocks of rows, joined in pairs: block 2k with block 2k + 1, then the results, and
/// so on (Demmel, Grigori, Hoemmen and Langou, SIAM J. Sci. Comput. 34 (2012): TSQR). The pairing, and with
/// it the bits, depends only on the block numbers. At most two factors per level wait for their partners.
class TriangleTree {
 public:
  /// Adds the factor of a block; it has no rows if the block has no complete row. Thread-safe.
  void add(std::int64_t block, Matrix triangle) { add({0, block}, std::move(triangle)); }
  /// The waiting factors as numbers, for sending to another rank.
  [[nodiscard]] std::vector<double> numbers() const;
  void add_numbers(std::span<const double> numbers);
  /// The factor of all blocks, none of which may be missing. It has at most one row per column.
  [[nodiscard]] Matrix whole();

 private:
  using Node = std::pair<int, std::int64_t>;  ///< level, and index in the level
  void add(Node node, Matrix triangle);

  std::mutex mutex_;
  std::map<Node, Matrix> waiting_;
};

/// *Collective.* The triangular factor of the model matrix's complete rows, by one scan of the rows on the
/// hosts of the job. The result is on rank 0, and empty on other ranks. `plan` defines the blocks. Cost: 3
/// p^2 operations per row for p columns. Memory: some 5 p^2 numbers per thread, and two factors for each
/// doubling of the number of blocks.
[[nodiscard]] Matrix row_triangle(Job& job, const Plan& plan, const Rows& rows);

}  // namespace TESSERA_NAMESPACE::gam
