// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/error.hpp>
#include <tessera/memory/upstream.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace tessera::testing {

inline constexpr std::size_t kib = 1024;
inline constexpr std::size_t mib = 1024 * kib;

/// A device without memory or time. Addresses are numbers that are never reused; work on a stream completes
/// when the test says so. Every stream has a vector clock, so that the device knows whether any two uses of a
/// block are ordered, and counts those that are not.
class FakeDevice {
 public:
  using Clock = std::vector<std::uint64_t>;  ///< how many pieces of work of each stream

  explicit FakeDevice(std::size_t streams, std::size_t capacity_bytes = std::size_t{1} << 50)
      : capacity_bytes_(capacity_bytes), complete_(streams) {
    for (std::size_t i = 0; i < streams; ++i) streams_.push_back({i, Clock(streams)});
  }

  [[nodiscard]] StreamView stream(std::size_t i) { return StreamView(&streams_.at(i)); }

  /// Submits work that uses the block to a stream.
  void use(void* memory, StreamView stream) {
    FakeStream& on = at(stream);
    races += std::ranges::any_of(uses_[memory], [&](const Use& before) {
      return before.time > on.clock[before.stream] && before.time > complete_[before.stream];
    });
    uses_[memory].push_back({on.index, ++on.clock[on.index]});
  }
  /// Completes the work that is on the stream now, and all work that it waited for.
  void finish(StreamView stream) { finish(at(stream).clock); }

  [[nodiscard]] std::size_t taken_bytes() const { return taken_bytes_; }
  [[nodiscard]] std::size_t blocks() const { return sizes_.size(); }

  std::size_t races = 0;       ///< uses that an earlier use of the same block is not ordered before
  std::size_t events = 0;      ///< that are not destroyed
  std::size_t records = 0;     ///< of events
  std::size_t host_waits = 0;  ///< for events
  std::size_t allocations = 0;
  std::size_t refusals = 0;  ///< allocations for which there was no memory
  bool holds = true;  ///< false: a stream that should wait does not, so that the tests can be seen to fail
  bool lost = false;  ///< true: what may fail does
  std::vector<void*> deallocated;
  std::vector<std::pair<void*, std::size_t>> zeroed;

 private:
  friend class FakeUpstream;
  struct FakeStream {
    std::size_t index;
    Clock clock;
  };
  struct Use {
    std::size_t stream;
    std::uint64_t time;
  };

  static FakeStream& at(StreamView stream) { return *static_cast<FakeStream*>(stream.native()); }
  static void merge(Clock& into, const Clock& from) {
    std::ranges::transform(into, from, into.begin(), [](auto a, auto b) { return std::max(a, b); });
  }
  void finish(const Clock& clock) { merge(complete_, clock); }

  std::size_t capacity_bytes_;
  std::size_t taken_bytes_ = 0;
  std::uintptr_t next_address_ = 4096;
  Clock complete_;
  std::deque<FakeStream> streams_;
  std::map<void*, std::size_t> sizes_;
  std::map<void*, std::vector<Use>> uses_;
};

/// The fake device's memory and events.
class FakeUpstream final : public MemoryUpstream {
 public:
  explicit FakeUpstream(FakeDevice& device) : device_(&device) {}

  void* allocate(std::size_t bytes, StreamView stream) override {
    fail_if_lost();
    if (bytes > device_->capacity_bytes_ - device_->taken_bytes_) {
      ++device_->refusals;
      return nullptr;
    }
    const std::uintptr_t address = std::exchange(device_->next_address_, device_->next_address_ + 256);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): never dereferenced
    void* memory = reinterpret_cast<void*>(address);
    device_->sizes_[memory] = bytes;
    device_->taken_bytes_ += bytes;
    ++device_->allocations;
    device_->use(memory, stream);
    return memory;
  }
  void deallocate(void* memory, std::size_t bytes, StreamView stream) noexcept override {
    device_->use(memory, stream);
    device_->uses_.erase(memory);
    if (device_->sizes_.at(memory) != bytes) ++device_->races;
    device_->sizes_.erase(memory);
    device_->taken_bytes_ -= bytes;
    device_->deallocated.push_back(memory);
  }
  [[nodiscard]] MemoryInfo memory_info() const override {
    return {device_->capacity_bytes_ - device_->taken_bytes_, device_->capacity_bytes_};
  }
  void fill_zero(void* memory, std::size_t bytes, StreamView stream) override {
    device_->use(memory, stream);
    device_->zeroed.emplace_back(memory, bytes);
  }
  void check_stream(StreamView stream) const override {
    if (stream.native() == nullptr) throw Error(ErrorCode::usage, "the default stream");
  }

  EventView create_event() override {
    ++device_->events;
    return EventView(new FakeDevice::Clock(device_->complete_.size()));
  }
  void destroy_event(EventView event) noexcept override {
    --device_->events;
    delete &at(event);
  }
  void record(EventView event, StreamView stream) override {
    fail_if_lost();
    ++device_->records;
    FakeDevice::FakeStream& on = FakeDevice::at(stream);
    ++on.clock[on.index];
    at(event) = on.clock;
  }
  bool ready(EventView event) override {
    fail_if_lost();
    return std::ranges::equal(at(event), device_->complete_,
                              [](auto time, auto done) { return time <= done; });
  }
  void make_wait(StreamView stream, EventView event) override {
    fail_if_lost();
    if (device_->holds) FakeDevice::merge(FakeDevice::at(stream).clock, at(event));
  }
  void synchronize(EventView event) override {
    ++device_->host_waits;
    device_->finish(at(event));
  }

 private:
  void fail_if_lost() const {
    if (device_->lost) throw Error(ErrorCode::job_fault, "the device is lost");
  }
  static FakeDevice::Clock& at(EventView event) { return *static_cast<FakeDevice::Clock*>(event.native()); }

  FakeDevice* device_;
};

}  // namespace tessera::testing
