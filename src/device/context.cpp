// SPDX-License-Identifier: Apache-2.0
#include <tessera/device/context.hpp>

#include "device/backend_outcomes.hpp"
#include "device/context_access.hpp"
#include "device/cuda_calls.hpp"

#include <tessera/error.hpp>

#include <unistd.h>

#include <atomic>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE {
namespace {

/// Runs `action`, and adds the device's name to an error.
template <class Action>
auto on_device(const DeviceInfo& info, const char* doing, Action&& action) {
  try {
    return action();
  } catch (const Error& error) {
    throw Error(ErrorCode::job_fault,
                "device " + to_string(info.uuid) + " (" + info.name + ") " + doing + ": " + error.what());
  }
}

/// The streams of a context, by lane; shared with the memory that is bound to them.
class OwnedStreams {
 public:
  OwnedStreams() = default;
  explicit OwnedStreams(Ordinal of) : first_(cuda::create_stream()), ordinal_(of) {}
  ~OwnedStreams() {
    if (first_.native() == nullptr) return;
    cuda::destroy_stream(first_, ordinal_);
    for (const StreamView stream : others_) cuda::destroy_stream(stream, ordinal_);
  }
  OwnedStreams(const OwnedStreams&) = delete;
  OwnedStreams& operator=(const OwnedStreams&) = delete;

  [[nodiscard]] StreamView first() const noexcept { return first_; }
  [[nodiscard]] StreamView at(int lane) {
    if (lane == 0 || first_.native() == nullptr) return first_;
    const std::lock_guard lock(mutex_);
    others_.reserve(static_cast<std::size_t>(lane));
    while (std::ssize(others_) < lane) others_.push_back(cuda::create_stream());
    return others_[static_cast<std::size_t>(lane - 1)];
  }

 private:
  StreamView first_;
  Ordinal ordinal_{-1};
  std::mutex mutex_;
  std::vector<StreamView> others_;
};

/// The process that has opened a device last; a forked child inherits it. 0: none.
std::atomic<pid_t> opener = 0;

}  // namespace

struct DeviceContext::State {
  State(DeviceInfo known, std::shared_ptr<ModuleCache> shared)
      : info(std::move(known)), modules(shared ? std::move(shared) : std::make_shared<ModuleCache>()) {
    if (!info.host) opener = getpid();
    if (info.has_host_memory()) {
      streams = std::make_shared<OwnedStreams>();
      return;
    }
    on_device(info, "cannot be opened", [&] {
      ordinal = cuda::find_ordinal(info.uuid);
      cuda::bind(ordinal);
      cuda::fill_properties(ordinal, info);
      streams = std::make_shared<OwnedStreams>(ordinal);
    });
  }
  ~State() {
    // Memory, events and library handles may still use the streams.
    if (!info.has_host_memory()) cuda::on_device(ordinal, [&] { backends.clear(); });
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  DeviceInfo info;
  Ordinal ordinal{-1};
  std::shared_ptr<OwnedStreams> streams;  ///< shared with upstreams
  std::shared_ptr<ModuleCache> modules;
  detail::BackendOutcomes backends;
  const DeviceContext* owner = nullptr;  ///< the object that the context was moved to

  /// The state of the last context bound on this thread. Weak, since other threads may close contexts.
  static inline thread_local std::weak_ptr<State> bound;

  /// The last tile of this thread.
  struct LastTile {
    std::weak_ptr<State> device;
    detail::ContextAccess::OfTile tile;
  };
  static inline thread_local LastTile last_tile;
};

DeviceContext::DeviceContext(DeviceInfo info, std::shared_ptr<ModuleCache> modules)
    : state_(std::make_shared<State>(std::move(info), std::move(modules))) {
  state_->owner = this;
}
DeviceContext::~DeviceContext() = default;
DeviceContext::DeviceContext(DeviceContext&& other) noexcept : state_(std::move(other.state_)) {
  if (state_) state_->owner = this;
}
DeviceContext& DeviceContext::operator=(DeviceContext&& other) noexcept {
  state_ = std::move(other.state_);
  if (state_) state_->owner = this;
  return *this;
}

const DeviceInfo& DeviceContext::info() const {
  return state_->info;
}
Ordinal DeviceContext::ordinal() const {
  return state_->ordinal;
}
StreamView DeviceContext::stream() const {
  return state_->streams->first();
}
StreamView detail::ContextAccess::stream(const DeviceContext& context, int lane) {
  return on_device(context.info(), "has no other stream", [&] { return context.state_->streams->at(lane); });
}
std::shared_ptr<const void> detail::ContextAccess::keep_streams(const DeviceContext& context) noexcept {
  return context.state_->streams;
}
ModuleCache& DeviceContext::modules() const {
  return *state_->modules;
}

void DeviceContext::bind() const {
  const std::shared_ptr<State>& state = state_.handle();
  State::bound.reset();
  if (!state->info.has_host_memory())
    on_device(state->info, "cannot be made current", [&] { cuda::bind(state->ordinal); });
  State::bound = state;
}

const DeviceContext* DeviceContext::bound_to_this_thread() noexcept {
  const auto state = State::bound.lock();
  return state ? state->owner : nullptr;
}

bool detail::ContextAccess::were_opened_before_fork() noexcept {
  const pid_t process = opener;
  return process != 0 && process != getpid();
}

std::shared_ptr<void> detail::ContextAccess::keep_bound() {
  using State = DeviceContext::State;
  return {nullptr, [before = State::bound](void*) { State::bound = before; }};
}

void detail::ContextAccess::set_tile(const DeviceContext& context, OfTile tile) noexcept {
  DeviceContext::State::last_tile = {context.state_.handle(), tile};
}
detail::ContextAccess::OfTile detail::ContextAccess::tile(const DeviceContext& context) noexcept {
  const auto& last = DeviceContext::State::last_tile;
  return last.device.lock() == context.state_.handle() ? last.tile : OfTile{context.stream(), nullptr};
}

detail::BackendOutcomes& detail::ContextAccess::backends(const DeviceContext& context) noexcept {
  return context.state_->backends;
}

void DeviceContext::synchronize() const {
  detail::ContextAccess::synchronize(*this, stream());
}
void detail::ContextAccess::synchronize(const DeviceContext& context, StreamView stream) {
  if (context.info().has_host_memory()) return;
  on_device(context.info(), "failed", [&] { cuda::synchronize(stream); });
}

std::int64_t DeviceContext::free_memory_bytes() const {
  if (state_->info.has_host_memory()) return state_->info.free_memory_bytes;
  return on_device(state_->info, "does not tell its free memory",
                   [&] { return cuda::free_memory_bytes(state_->ordinal); });
}

}  // namespace TESSERA_NAMESPACE
