// SPDX-License-Identifier: Apache-2.0
#include <tessera/device/context.hpp>

#include "device/backend_outcomes.hpp"
#include "device/context_access.hpp"
#include "device/cuda_calls.hpp"

#include <tessera/error.hpp>

#include <atomic>
#include <string>
#include <utility>

namespace tessera::inline TESSERA_ABI {
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

/// The stream of a context; shared with the memory that is bound to it.
struct OwnedStream {
  OwnedStream() = default;
  explicit OwnedStream(Ordinal of) : view(cuda::create_stream()), ordinal(of) {}
  ~OwnedStream() {
    if (view.native() != nullptr) cuda::destroy_stream(view, ordinal);
  }
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;

  StreamView view;
  Ordinal ordinal{-1};
};

}  // namespace

struct DeviceContext::State {
  State(DeviceInfo known, std::shared_ptr<ModuleCache> shared)
      : info(std::move(known)), modules(shared ? std::move(shared) : std::make_shared<ModuleCache>()) {
    if (info.has_host_memory()) {
      stream = std::make_shared<OwnedStream>();
      return;
    }
    on_device(info, "cannot be opened", [&] {
      ordinal = cuda::find_ordinal(info.uuid);
      cuda::bind(ordinal);
      cuda::fill_properties(ordinal, info);
      stream = std::make_shared<OwnedStream>(ordinal);
    });
  }
  ~State() {
    // Memory, events and library handles may still use the stream.
    if (!info.has_host_memory()) cuda::on_device(ordinal, [&] { backends.clear(); });
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  DeviceInfo info;
  Ordinal ordinal{-1};
  std::shared_ptr<const OwnedStream> stream;  ///< shared with upstreams
  std::shared_ptr<ModuleCache> modules;
  detail::BackendOutcomes backends;
  std::atomic<Arena*> arena = nullptr;
  const DeviceContext* owner = nullptr;  ///< the object that the context was moved to

  /// The state of the last context bound on this thread. Weak, since other threads may close contexts.
  static inline thread_local std::weak_ptr<State> bound;
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

const DeviceInfo& DeviceContext::info() const noexcept {
  return state_->info;
}
Ordinal DeviceContext::ordinal() const noexcept {
  return state_->ordinal;
}
StreamView DeviceContext::stream() const noexcept {
  return state_->stream->view;
}
std::shared_ptr<const void> detail::ContextAccess::keep_stream(const DeviceContext& context) noexcept {
  return context.state_->stream;
}
ModuleCache& DeviceContext::modules() const noexcept {
  return *state_->modules;
}

void DeviceContext::bind() const {
  State::bound.reset();
  if (!state_->info.has_host_memory())
    on_device(state_->info, "cannot be made current", [&] { cuda::bind(state_->ordinal); });
  State::bound = state_;
}

const DeviceContext* DeviceContext::bound_to_this_thread() noexcept {
  const auto state = State::bound.lock();
  return state ? state->owner : nullptr;
}

std::shared_ptr<void> detail::ContextAccess::keep_bound() {
  using State = DeviceContext::State;
  return {nullptr, [before = State::bound](void*) { State::bound = before; }};
}

void detail::ContextAccess::set_arena(const DeviceContext& context, Arena* arena) noexcept {
  context.state_->arena = arena;
}
Arena* detail::ContextAccess::arena(const DeviceContext& context) noexcept {
  return context.state_->arena;
}

detail::BackendOutcomes& detail::ContextAccess::backends(const DeviceContext& context) noexcept {
  return context.state_->backends;
}

void DeviceContext::synchronize() const {
  if (state_->info.has_host_memory()) return;
  on_device(state_->info, "failed", [&] { cuda::synchronize(state_->stream->view); });
}

std::int64_t DeviceContext::free_memory_bytes() const {
  if (state_->info.has_host_memory()) return state_->info.free_memory_bytes;
  return on_device(state_->info, "does not tell its free memory",
                   [&] { return cuda::free_memory_bytes(state_->ordinal); });
}

}  // namespace tessera::inline TESSERA_ABI
