// SPDX-License-Identifier: Apache-2.0
#include <tessera/job/host_team.hpp>

#include "base/cancellation.hpp"
#include "job/consensus/attempt.hpp"
#include "job/threads/completion.hpp"
#include "job/threads/earliest_failure.hpp"
#include "job/threads/parked_thread.hpp"

#include <tessera/job/stop_request.hpp>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE {
namespace {

/// Counts the working threads, and admits no further thread after all work is taken. A thread that the kernel
/// schedules late finds the gate closed, so that no thread waits for it.
class Gate {
 public:
  /// The gate must be closed and empty. `inside`: initial number of threads inside.
  void open(std::uint32_t inside) noexcept { state_.store(is_open | inside, std::memory_order_release); }

  [[nodiscard]] bool enter() noexcept {
    std::uint32_t seen = state_.load(std::memory_order_relaxed);
    while ((seen & is_open) != 0)
      if (state_.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire, std::memory_order_relaxed))
        return true;
    return false;
  }

  /// Closes the gate, because the leaving thread found no more work. True if the gate is then empty.
  bool leave() noexcept {
    state_.fetch_and(~is_open, std::memory_order_relaxed);
    return state_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  [[nodiscard]] bool is_over() const noexcept { return state_.load(std::memory_order_acquire) == 0; }

 private:
  static constexpr std::uint32_t is_open = std::uint32_t{1} << 31;
  std::atomic<std::uint32_t> state_ = 0;
};

}  // namespace

struct HostTeam::State {
  State(int size, SharedFunction<void()> idle)
      : progress(std::move(idle)),
        caller_works(!progress),
        threads(static_cast<std::size_t>(std::max(size, 1) - (caller_works ? 1 : 0))) {}
  ~State() {
    for (const Helper& helper : threads)
      if (helper.thread) helper.thread->end();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// Calls `take_blocks(thread)` on at most `blocks` threads. Such a call returns only after all blocks are
  /// taken; then no further thread begins, and `run` waits for the threads that have begun.
  void run(std::int64_t blocks, FunctionRef<void(int)> take_blocks) {
    if (caller_works && (blocks == 1 || threads.empty())) return take_blocks(0);
    invited = start_first(static_cast<std::size_t>(
        std::min(static_cast<std::int64_t>(threads.size()), blocks - (caller_works ? 1 : 0))));
    work = take_blocks;
    gate.open(caller_works ? 1 : 0);
    wake(0);
    wake(1);
    if (caller_works) {
      const Leaving leaving(*this);
      take_blocks(0);
    }
    completion.wait(
        ParkedThread::host_patience, [&] { return gate.is_over(); }, progress);
  }

  /// RAII, so that the thread leaves the gate even if pthread_exit unwinds it.
  class Leaving {
   public:
    explicit Leaving(State& state) : state_(state) {}
    ~Leaving() {
      if (state_.gate.leave()) state_.completion.notify();
    }
    Leaving(const Leaving&) = delete;
    Leaving& operator=(const Leaving&) = delete;

   private:
    State& state_;
  };

  struct Helper {
    bool has_ended = false;  ///< whether `work` has ended the thread (pthread_exit)
    std::unique_ptr<ParkedThread> thread;
  };

  /// Starts those of the first `wanted` threads that do not run, and returns the number that run. A cgroup or
  /// ulimit may allow fewer, which then process all blocks.
  std::size_t start_first(std::size_t wanted) {
    for (std::size_t i = 0; i < wanted; ++i) {
      Helper& helper = threads[i];
      if (helper.thread && !helper.has_ended) continue;
      helper = {};
      try {
        helper.thread = std::make_unique<ParkedThread>(ParkedThread::host_patience, [this, i] { help(i); });
      } catch (const Error&) {
        if (i == 0 && !caller_works) throw;
        return i;
      }
    }
    return wanted;
  }

  void wake(std::size_t i) {
    if (i < invited) threads[i].thread->call();
  }

  void help(std::size_t i) {
    if (!gate.enter()) return;
    const Leaving leaving(*this);
    threads[i].has_ended = true;
    wake(2 * i + 2);
    wake(2 * i + 3);
    work(static_cast<int>(i) + (caller_works ? 1 : 0));
    threads[i].has_ended = false;
  }

  SharedFunction<void()> progress;
  bool caller_works;  ///< whether the calling thread is thread 0
  std::size_t invited = 0;
  FunctionRef<void(int)> work;
  alignas(64) Gate gate;
  Completion completion;
  std::vector<Helper> threads;  // last, because they use the members above
};

HostTeam::HostTeam(int threads, SharedFunction<void()> progress)
    : state_(std::make_unique<State>(threads, std::move(progress))) {}
HostTeam::~HostTeam() = default;
HostTeam::HostTeam(HostTeam&&) noexcept = default;
HostTeam& HostTeam::operator=(HostTeam&&) noexcept = default;

int HostTeam::size() const noexcept {
  return state_ ? static_cast<int>(state_->threads.size()) + (state_->caller_works ? 1 : 0) : 0;
}

bool HostTeam::for_each_block(Range range, std::int64_t block,
                              FunctionRef<void(int thread, Range block)> work, const StopRequest* stop) {
  State& state = *state_;
  if (range.empty()) return true;
  const std::int64_t blocks = (range.size() - 1) / block + 1;
  std::atomic<std::int64_t> next = 0;
  std::atomic<std::int64_t> ended = 0;
  EarliestFailure failure;
  const FunctionRef<void()> check = stop == nullptr ? base::cancellation_check() : nullptr;

  state.run(blocks, [&](int thread) {
    // Blocks start in order, and every started block completes, so the failing block with the lowest index
    // always runs.
    while (!failure.any() && !(stop != nullptr && stop->requested())) {
      const std::int64_t taken = next.fetch_add(1, std::memory_order_relaxed);
      if (taken >= blocks) return;
      const std::int64_t begin = range.begin + taken * block;
      // Avoids overflow of begin + block if the range ends near 2^63.
      const std::int64_t end = range.end - begin > block ? begin + block : range.end;
      try {
        if (check) check();
        work(thread, {begin, end});
      } catch (...) {
        const std::exception_ptr thrown = std::current_exception();
        failure.add(taken, thrown ? thrown : std::make_exception_ptr(Misuse(thread_was_ended)));
        if (!thrown) throw;  // thread cancellation
      }
      ended.fetch_add(1, std::memory_order_relaxed);
    }
  });
  failure.rethrow();
  return ended.load(std::memory_order_relaxed) >= blocks;
}

}  // namespace TESSERA_NAMESPACE
