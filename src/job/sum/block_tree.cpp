// SPDX-License-Identifier: Apache-2.0
#include "job/sum/block_tree.hpp"

#include <algorithm>
#include <cstring>

namespace TESSERA_NAMESPACE {
namespace {

constexpr std::size_t value_alignment = 16;

}  // namespace

BlockTree::BlockTree(std::size_t value_bytes, Combine combine)
    : value_bytes_(value_bytes),
      node_bytes_(sizeof(Node) + (value_bytes + value_alignment - 1) / value_alignment * value_alignment),
      combine_(combine) {
  static_assert(sizeof(Node) == value_alignment);
}

BlockTree::Node& BlockTree::node(std::size_t i) noexcept {
  return *reinterpret_cast<Node*>(nodes_.data() + i * node_bytes_);
}

bool BlockTree::ends_with_a_pair() noexcept {
  if (size_ < 2) return false;
  const Node& left = node(size_ - 2);
  const Node& right = node(size_ - 1);
  const std::int64_t blocks = std::int64_t{1} << left.level;
  return left.level == right.level && left.first + blocks == right.first && (left.first & blocks) == 0;
}

void BlockTree::combine_last_two() {
  Node& left = node(size_ - 2);
  combine_(&left + 1, &node(size_ - 1) + 1);
  ++left.level;
  --size_;
}

void BlockTree::push(Node added, const void* value) {
  if (size_ * node_bytes_ == nodes_.size()) nodes_.resize(nodes_.size() + node_bytes_);
  Node& last = node(size_++);
  last = added;
  std::memcpy(&last + 1, value, value_bytes_);
  while (ends_with_a_pair()) combine_last_two();
}

void BlockTree::add(std::span<const std::span<const std::byte>> others) {
  std::vector<const Node*> sorted;
  for (const auto& nodes : others)
    for (std::size_t at = 0; at < nodes.size(); at += node_bytes_)
      sorted.push_back(reinterpret_cast<const Node*>(nodes.data() + at));
  std::ranges::sort(sorted, {}, [](const Node* node) { return node->first; });
  for (const Node* node : sorted) push(*node, node + 1);
}

const void* BlockTree::value() {
  if (size_ == 0) return nullptr;
  while (size_ > 1) combine_last_two();
  return &node(0) + 1;
}

}  // namespace TESSERA_NAMESPACE
