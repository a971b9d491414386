// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/function.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE {

/// Combines the values of blocks in a binary tree that depends only on the number of blocks of the job: see
/// `Reducer`. A node of level k covers 2^k blocks, and begins at a multiple of 2^k. Siblings are combined as
/// soon as both are present: contiguous blocks have at most two nodes per level.
class BlockTree {
 public:
  /// Replaces the value of some blocks by the combined value of these blocks and the blocks to their right.
  using Combine = FunctionRef<void(void* left, const void* right)>;

  /// For values of `value_bytes`, aligned to 16 bytes or less.
  BlockTree(std::size_t value_bytes, Combine combine);

  void add(std::int64_t block, const void* value) { push({block, 0}, value); }
  /// Adds the nodes of other trees, possibly of other ranks, with values of the same size, in any order.
  void add(std::span<const std::span<const std::byte>> others);
  /// The nodes in the order in which blocks were added, for sending to other ranks.
  [[nodiscard]] std::span<const std::byte> nodes() const noexcept {
    return {nodes_.data(), size_ * node_bytes_};
  }

  /// The value of all blocks of the job, after all were added; null if there are none.
  [[nodiscard]] const void* value();

 private:
  struct Node {
    std::int64_t first;  ///< first block
    std::int64_t level;
  };
  void push(Node added, const void* value);
  [[nodiscard]] Node& node(std::size_t i) noexcept;
  [[nodiscard]] bool ends_with_a_pair() noexcept;
  void combine_last_two();

  std::size_t value_bytes_;
  std::size_t node_bytes_;  ///< bytes of a node, including its value, which follows it
  Combine combine_;
  std::vector<std::byte> nodes_;  ///< `size_` nodes, then unused capacity
  std::size_t size_ = 0;
};

}  // namespace TESSERA_NAMESPACE
