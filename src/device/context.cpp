// SPDX-License-Identifier: Apache-2.0
#include <tessera/device/context.hpp>

#include "device/backend_outcomes.hpp"
#include "device/context_access.hpp"
#include "device/cuda_calls.hpp"

#include <tessera/error.hpp>

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE {
namespace {

/// Runs `action`; adds the device's name to its error.
template <class Action>
auto on_device(const DeviceInfo& info, const char* doing, Action&& action) {
  try {
    return action();
  } catch (const Error& error) {
    throw Error(ErrorCode::job_fault,
                "device " + to_string(info.uuid) + " (" + info.name + ") " + doing + ": " + error.what());
  }
}

/// The streams of a context, one for each lane (parts of a tile in different lanes run concurrently). Memory
/// that is freed in stream order shares ownership of the streams.
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

/// The last process that opened a device; 0: none. A forked child inherits its parent's value.
std::atomic<pid_t> opener = 0;

/// An element of the list of open contexts. Threads refer to a context by its number, not by a weak pointer:
/// a thread-local object with a destructor would keep this library loaded after dlclose.
class OpenContext {
 public:
  OpenContext() {
    const std::lock_guard lock(mutex);
    number_ = ++last_number;
    next_ = std::exchange(first, this);
    if (next_ != nullptr) next_->previous_ = this;
  }
  ~OpenContext() {
    const std::lock_guard lock(mutex);
    (previous_ != nullptr ? previous_->next_ : first) = next_;
    if (next_ != nullptr) next_->previous_ = previous_;
  }
  OpenContext(const OpenContext&) = delete;
  OpenContext& operator=(const OpenContext&) = delete;

  /// Positive and unique for each context.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// The open context with this number, wherever it was moved; null if it is closed.
  [[nodiscard]] static const DeviceContext* find(std::uint64_t number) noexcept {
    const std::lock_guard lock(mutex);
    const OpenContext* open = first;
    while (open != nullptr && open->number_ != number) open = open->next_;
    return open != nullptr ? open->owner : nullptr;
  }

  const DeviceContext* owner = nullptr;

 private:
  static constinit std::mutex mutex;
  static constinit std::uint64_t last_number;
  static constinit OpenContext* first;

  std::uint64_t number_;
  OpenContext* next_;
  OpenContext* previous_ = nullptr;
};
constinit std::mutex OpenContext::mutex;
constinit std::uint64_t OpenContext::last_number = 0;
constinit OpenContext* OpenContext::first = nullptr;

/// Number of the context that is bound to this thread; 0: none.
thread_local std::uint64_t bound = 0;
struct LastTile {
  std::uint64_t device = 0;
  detail::ContextAccess::OfTile tile{};
};
thread_local LastTile last_tile;
static_assert(std::is_trivially_destructible_v<LastTile>);

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
    // Backends are destroyed before the streams, because their memory, events and library handles may use the
    // streams.
    if (!info.has_host_memory()) cuda::on_device(ordinal, [&] { backends.clear(); });
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  DeviceInfo info;
  Ordinal ordinal{-1};
  std::shared_ptr<OwnedStreams> streams;
  std::shared_ptr<ModuleCache> modules;
  detail::BackendOutcomes backends;
  OpenContext open;
};

DeviceContext::DeviceContext(DeviceInfo info, std::shared_ptr<ModuleCache> modules)
    : state_(std::make_shared<State>(std::move(info), std::move(modules))) {
  state_->open.owner = this;
}
DeviceContext::~DeviceContext() = default;
DeviceContext::DeviceContext(DeviceContext&& other) noexcept : state_(std::move(other.state_)) {
  if (state_) state_->open.owner = this;
}
DeviceContext& DeviceContext::operator=(DeviceContext&& other) noexcept {
  state_ = std::move(other.state_);
  if (state_) state_->open.owner = this;
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
  return on_device(context.info(), "cannot create another stream",
                   [&] { return context.state_->streams->at(lane); });
}
std::shared_ptr<const void> detail::ContextAccess::keep_streams(const DeviceContext& context) noexcept {
  return context.state_->streams;
}
ModuleCache& DeviceContext::modules() const {
  return *state_->modules;
}

void DeviceContext::bind() const {
  const std::shared_ptr<State>& state = state_.handle();
  bound = 0;
  if (!state->info.has_host_memory())
    on_device(state->info, "cannot be made current", [&] { cuda::bind(state->ordinal); });
  bound = state->open.number();
}

const DeviceContext* DeviceContext::bound_to_this_thread() noexcept {
  return OpenContext::find(bound);
}

bool detail::ContextAccess::were_opened_before_fork() noexcept {
  const pid_t process = opener;
  return process != 0 && process != getpid();
}

std::shared_ptr<void> detail::ContextAccess::keep_bound() {
  return {nullptr, [before = bound](void*) { bound = before; }};
}

void detail::ContextAccess::set_tile(const DeviceContext& context, OfTile tile) noexcept {
  last_tile = {context.state_->open.number(), tile};
}
detail::ContextAccess::OfTile detail::ContextAccess::tile(const DeviceContext& context) noexcept {
  return last_tile.device == context.state_->open.number() ? last_tile.tile
                                                           : OfTile{context.stream(), nullptr};
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
  return on_device(state_->info, "does not report its free memory",
                   [&] { return cuda::free_memory_bytes(state_->ordinal); });
}

}  // namespace TESSERA_NAMESPACE
