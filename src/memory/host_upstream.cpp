// SPDX-License-Identifier: Apache-2.0
#include <tessera/memory/upstream.hpp>

#include <cstdlib>
#include <cstring>

namespace TESSERA_NAMESPACE {
namespace {

class HostUpstream final : public MemoryUpstream {
 public:
  explicit HostUpstream(std::size_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}

  void* allocate(std::size_t bytes, StreamView) override {
    constexpr std::size_t alignment = 256;
    if (bytes > capacity_bytes_ - taken_bytes_) return nullptr;
    void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory != nullptr) taken_bytes_ += bytes;
    return memory;
  }
  void deallocate(void* memory, std::size_t bytes, StreamView) noexcept override {
    std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc): owners are made of this
    taken_bytes_ -= bytes;
  }
  [[nodiscard]] MemoryInfo memory_info() const override {
    return {capacity_bytes_ - taken_bytes_, capacity_bytes_};
  }
  void fill_zero(void* memory, std::size_t bytes, StreamView) override { std::memset(memory, 0, bytes); }

  // Calls are synchronous, so every event is ready.
  EventView create_event() override { return EventView(this); }
  void destroy_event(EventView) noexcept override {}
  void record(EventView, StreamView) override {}
  bool ready(EventView) override { return true; }
  void make_wait(StreamView, EventView) override {}
  void synchronize(EventView) override {}

 private:
  std::size_t capacity_bytes_;
  std::size_t taken_bytes_ = 0;
};

}  // namespace

std::unique_ptr<MemoryUpstream> make_host_upstream(std::size_t capacity_bytes) {
  return std::make_unique<HostUpstream>(capacity_bytes);
}

}  // namespace TESSERA_NAMESPACE
