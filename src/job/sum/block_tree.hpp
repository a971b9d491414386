// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/function.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE {

/// Combines the values of blocks in a binary tree that depends only on the job's number of blocks (see
/// `Reducer`). A node of level k covers 2^k blocks, the first of which is a multiple of 2^k. Siblings are
/// combined as soon as both exist, so contiguous blocks have at most two nodes per level.
class BlockTree {
 public:
  /// Replaces `left` by the combination of `left` and `right`.
  using Combine = FunctionRef<void(void* left, const void* right)>;

  /// The alignment of values is at most 16 bytes.
  BlockTree(std::size_t value_bytes, Combine combine);

  void add(std::int64_t block, const void* value) { push({block, 0}, value); }
  /// Adds nodes of other trees, also of other ranks, in any order.
  void add(std::span<const std::span<const std::byte>> others);
  /// The nodes as bytes, for other ranks.
  [[nodiscard]] std::span<const std::byte> nodes() const noexcept {
    return {nodes_.data(), size_ * node_bytes_};
  }

  /// The combined value after all blocks were added; null without blocks.
  [[nodiscard]] const void* value();

 private:
  struct Node {
    std::int64_t first;
    std::int64_t level;
  };
  void push(Node added, const void* value);
  [[nodiscard]] Node& node(std::size_t i) noexcept;
  [[nodiscard]] bool ends_with_a_pair() noexcept;
  void combine_last_two();

  std::size_t value_bytes_;
  std::size_t node_bytes_;  ///< bytes of a node and its value
  Combine combine_;
  std::vector<std::byte> nodes_;  ///< `size_` nodes, then unused capacity
  std::size_t size_ = 0;
};

}  // namespace TESSERA_NAMESPACE
