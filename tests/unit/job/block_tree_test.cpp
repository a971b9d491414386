// SPDX-License-Identifier: Apache-2.0
#include "job/sum/block_tree.hpp"

#include "tree_reference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

namespace tessera::testing {
namespace {

void combine_shapes(void* left, const void* right) {
  auto& value = *static_cast<std::uint64_t*>(left);
  value = Shape::combine(value, *static_cast<const std::uint64_t*>(right));
}

BlockTree tree_of_shapes() {
  return {sizeof(std::uint64_t), combine_shapes};
}

std::uint64_t value_of_block(std::int64_t block) {
  return static_cast<std::uint64_t>(block) * 2654435761 + 7;
}

std::uint64_t expected(std::int64_t blocks) {
  std::vector<std::uint64_t> values;
  for (std::int64_t block = 0; block < blocks; ++block) values.push_back(value_of_block(block));
  return combined_in_tree<Shape>(values);
}

void add_range(BlockTree& tree, std::int64_t begin, std::int64_t end) {
  for (std::int64_t block = begin; block < end; ++block) {
    const std::uint64_t value = value_of_block(block);
    tree.add(block, &value);
  }
}

/// The value of all blocks after the parts are combined.
std::uint64_t value_of(const std::vector<BlockTree>& parts) {
  std::vector<std::span<const std::byte>> nodes;
  for (const BlockTree& part : parts) nodes.push_back(part.nodes());
  BlockTree all = tree_of_shapes();
  all.add(nodes);
  return *static_cast<const std::uint64_t*>(all.value());
}

TEST(BlockTree, HasTheTreeOfAnyNumberOfBlocks) {
  for (std::int64_t blocks = 1; blocks < 200; ++blocks) {
    BlockTree tree = tree_of_shapes();
    add_range(tree, 0, blocks);
    EXPECT_EQ(*static_cast<const std::uint64_t*>(tree.value()), expected(blocks)) << blocks;
  }
  EXPECT_EQ(tree_of_shapes().value(), nullptr);
}

TEST(BlockTree, DoesNotDependOnHowBlocksAreDistributed) {
  std::mt19937 random(48);
  for (int round = 0; round < 300; ++round) {
    const auto blocks = static_cast<std::int64_t>(random() % 500 + 1);
    std::vector<std::pair<std::int64_t, std::int64_t>> runs;
    for (std::int64_t begin = 0; begin < blocks;) {
      const std::int64_t end = std::min(blocks, begin + static_cast<std::int64_t>(random() % 40) + 1);
      runs.emplace_back(begin, end);
      begin = end;
    }
    std::ranges::shuffle(runs, random);  // threads take parts as they come
    std::vector<BlockTree> parts(random() % 6 + 1, tree_of_shapes());
    for (const auto& [begin, end] : runs) add_range(parts[random() % parts.size()], begin, end);
    EXPECT_EQ(value_of(parts), expected(blocks)) << round;
  }
}

TEST(BlockTree, KeepsFewNodesOfManyBlocks) {
  BlockTree first = tree_of_shapes();
  BlockTree second = tree_of_shapes();
  add_range(first, 0, 333'333);
  add_range(second, 333'333, 1'000'000);
  const std::size_t node_bytes = 32;
  EXPECT_LE(first.nodes().size(), 20 * node_bytes);
  EXPECT_LE(second.nodes().size(), 2 * 20 * node_bytes);
  EXPECT_EQ(value_of({first, second}), expected(1'000'000));
}

TEST(BlockTree, HasValuesOfAnySize) {
  struct Wide {
    char text[21];
  };
  const auto combine = [](void* left, const void* right) {
    auto& value = *static_cast<Wide*>(left);
    for (std::size_t i = 0; i < sizeof value.text; ++i)
      value.text[i] = static_cast<char>(value.text[i] + static_cast<const Wide*>(right)->text[i]);
  };
  BlockTree tree(sizeof(Wide), combine);
  Wide one{};
  for (char& c : one.text) c = 1;
  for (std::int64_t block = 0; block < 11; ++block) tree.add(block, &one);
  for (const char c : static_cast<const Wide*>(tree.value())->text) EXPECT_EQ(c, 11);
}

}  // namespace
}  // namespace tessera::testing
