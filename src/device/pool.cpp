// SPDX-License-Identifier: Apache-2.0
#include <tessera/device/pool.hpp>

#include "base/lazy.hpp"

#include <tessera/error.hpp>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

namespace TESSERA_NAMESPACE {

struct DevicePool::State {
  std::vector<Entry> entries;
  std::unique_ptr<base::Lazy<DeviceContext>[]> contexts;
  std::unique_ptr<std::atomic<bool>[]> left_out;
  std::atomic<std::size_t> turn = 0;
  std::shared_ptr<ModuleCache> modules;

  /// Indices of the devices that get work: neither left out nor the host.
  [[nodiscard]] std::vector<std::size_t> to_choose_from() const {
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < entries.size(); ++i)
      if (!left_out[i] && !entries[i].info.host) indices.push_back(i);
    return indices;
  }

  [[nodiscard]] std::string described() const {
    if (entries.empty()) return "the pool is empty (this rank drives no device)";
    if (to_choose_from().empty()) return "the pool has only the host and excluded devices";
    std::string text = "the pool has " + std::to_string(entries.size()) +
                       (entries.size() == 1 ? " device, ordinal " : " devices, ordinals ");
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) text += ", ";
      text += std::to_string(static_cast<int>(entries[i].ordinal));
    }
    return text + " (indices from 0)";
  }

  [[noreturn]] void refuse(const std::string& asked) const {
    throw Error(ErrorCode::usage, "device pool: " + asked + ", but " + described());
  }

  void check_index(std::size_t index) const {
    if (index >= entries.size()) refuse("index " + std::to_string(index) + " was requested");
  }

  [[nodiscard]] std::size_t index_of(Ordinal ordinal) const {
    const auto at = std::ranges::find(entries, ordinal, &Entry::ordinal);
    if (at == entries.end())
      refuse("ordinal " + std::to_string(static_cast<int>(ordinal)) + " was requested");
    return static_cast<std::size_t>(at - entries.begin());
  }
};

DevicePool::DevicePool() : DevicePool(std::vector<Entry>{}) {}

DevicePool::DevicePool(std::vector<Entry> entries, std::shared_ptr<ModuleCache> modules)
    : state_(std::make_unique<State>()) {
  state_->modules = modules ? std::move(modules) : std::make_shared<ModuleCache>();
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    return a.score != b.score ? a.score > b.score : a.claim_index < b.claim_index;
  });
  state_->contexts = std::make_unique<base::Lazy<DeviceContext>[]>(entries.size());
  state_->left_out = std::make_unique<std::atomic<bool>[]>(entries.size());
  state_->entries = std::move(entries);
}

DevicePool::~DevicePool() = default;
DevicePool::DevicePool(DevicePool&&) noexcept = default;
DevicePool& DevicePool::operator=(DevicePool&&) noexcept = default;

std::size_t DevicePool::size() const noexcept {
  return state_ ? state_->entries.size() : 0;
}

std::vector<Ordinal> DevicePool::ordinals() const {
  std::vector<Ordinal> all;
  all.reserve(size());
  for (const Entry& entry : state_->entries) all.push_back(entry.ordinal);
  return all;
}

std::span<const DevicePool::Entry> DevicePool::entries() const noexcept {
  return state_ ? std::span<const Entry>(state_->entries) : std::span<const Entry>();
}

const DeviceInfo& DevicePool::device_at(std::size_t index) const {
  state_->check_index(index);
  const DeviceContext* opened = state_->contexts[index].if_made();
  return opened != nullptr ? opened->info() : state_->entries[index].info;
}

DeviceContext& DevicePool::context_at(std::size_t index) {
  state_->check_index(index);
  return state_->contexts[index].get(
      [&] { return std::make_unique<DeviceContext>(state_->entries[index].info, state_->modules); });
}

DeviceContext& DevicePool::context_of(Ordinal ordinal) {
  return context_at(state_->index_of(ordinal));
}

std::int64_t DevicePool::memory_budget_bytes(Ordinal ordinal) const {
  return device_at(state_->index_of(ordinal)).memory_budget_bytes();
}

void DevicePool::leave_out(int claim_index) noexcept {
  for (std::size_t i = 0; i < size(); ++i)
    if (state_->entries[i].claim_index == claim_index) state_->left_out[i] = true;
}

Ordinal DevicePool::next_device() {
  const std::vector<std::size_t> indices = state_->to_choose_from();
  if (indices.empty()) state_->refuse("the next device was requested");
  const std::size_t turn = state_->turn.fetch_add(1, std::memory_order_relaxed);
  return state_->entries[indices[turn % indices.size()]].ordinal;
}

Ordinal DevicePool::most_free_memory() {
  const std::vector<std::size_t> indices = state_->to_choose_from();
  if (indices.empty()) state_->refuse("the device with the most free memory was requested");
  std::size_t best = indices.front();
  std::int64_t most = -1;
  for (const std::size_t i : indices) {
    const DeviceContext* opened = state_->contexts[i].if_made();
    const std::int64_t free =
        opened != nullptr ? opened->free_memory_bytes() : state_->entries[i].info.free_memory_bytes;
    if (free > most) {
      most = free;
      best = i;
    }
  }
  return state_->entries[best].ordinal;
}

}  // namespace TESSERA_NAMESPACE
