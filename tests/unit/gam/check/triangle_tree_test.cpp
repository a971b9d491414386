// SPDX-License-Identifier: Apache-2.0
#include "gam/check/row_triangle.hpp"

#include "base/hash.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr int tree_columns = 4;
constexpr int rows_of_block = 6;

/// Random numbers; the last column is almost a multiple of the first.
Matrix rows_of(int count) {
  Matrix out(count, tree_columns);
  for (int j = 0; j < tree_columns; ++j) {
    for (int i = 0; i < count; ++i)
      out(i, j) = static_cast<double>(base::split_mix(static_cast<std::uint64_t>(i) * tree_columns +
                                                      static_cast<std::uint64_t>(j)) >>
                                      11) *
                  0x1p-53;
  }
  for (int i = 0; i < count; ++i) out(i, 3) = 2 * out(i, 0) + 1e-11 * out(i, 3);
  return out;
}

Matrix block_of(const Matrix& rows, std::int64_t block) {
  // A block without a complete row, and one of fewer rows than tree_columns.
  const int size = block == 3 ? 0 : block == 5 ? 2 : rows_of_block;
  return triangle_of(submatrix(rows, static_cast<int>(block) * rows_of_block, size, 0, tree_columns));
}

TEST(TriangleTree, HasTheBitsOfItsBlocksInAnyOrderAndOnAnyRanks) {
  for (const std::int64_t blocks : {1, 2, 5, 8, 13}) {
    const Matrix rows = rows_of(static_cast<int>(blocks) * rows_of_block);
    TriangleTree in_order;
    for (std::int64_t block = 0; block < blocks; ++block) in_order.add(block, block_of(rows, block));
    const Matrix expected = in_order.whole();
    TriangleTree shuffled;
    for (std::int64_t k = 0; k < blocks; ++k) {
      const std::int64_t block = (k * 7 + 3) % blocks;
      shuffled.add(block, block_of(rows, block));
    }
    EXPECT_EQ(shuffled.whole(), expected) << blocks;
    for (std::int64_t end = 0; end <= blocks; ++end) {
      TriangleTree first;
      TriangleTree second;
      for (std::int64_t block = 0; block < blocks; ++block)
        (block < end ? first : second).add(block, block_of(rows, block));
      first.add_numbers(second.numbers());
      EXPECT_EQ(first.whole(), expected) << blocks << ", " << end;
    }
  }
}

TEST(TriangleTree, HasTheDigitsThatACrossproductLoses) {
  constexpr int blocks = 13;
  const Matrix rows = rows_of(blocks * rows_of_block);
  TriangleTree tree;
  std::vector<int> used;
  for (int block = 0; block < blocks; ++block) {
    const Matrix one = block_of(rows, block);
    for (int i = 0; i < (block == 3 ? 0 : block == 5 ? 2 : rows_of_block); ++i)
      used.push_back(block * rows_of_block + i);
    tree.add(block, one);
  }
  std::vector<int> all(tree_columns);
  std::iota(all.begin(), all.end(), 0);
  const Matrix direct = triangle_of(submatrix(rows, used, all));
  const Matrix found = tree.whole();
  ASSERT_EQ(found.rows(), tree_columns);
  for (int j = 0; j < tree_columns; ++j) {
    for (int i = 0; i < tree_columns; ++i) EXPECT_NEAR(std::abs(found(i, j)), std::abs(direct(i, j)), 1e-14);
  }
  EXPECT_GT(std::abs(found(3, 3)), 1e-12);
  EXPECT_NEAR(std::abs(found(3, 3)) / std::abs(direct(3, 3)), 1, 1e-3);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
