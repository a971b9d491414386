// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/fiber.hpp"

#include <tessera/function.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Passes requests of many fibers, which wait for them, to one thread that serves them in batches. The fibers
/// run on a few threads; a thread sleeps only if all of its fibers wait.
template <class Request>
class RequestQueue {
  struct Thread;

 public:
  /// Thrown by `wait_for` after the queue was closed.
  struct Closed {};
  /// A request, and who waits for it.
  struct Waiting {
    Request* request;
    Fiber* fiber;
    Thread* thread;
  };
  using Batch = std::vector<Waiting>;

  /// `fibers`: the number of fibers that all threads together will run by `run`.
  explicit RequestQueue(std::size_t fibers) : fibers_(fibers) {}
  /// `run` will be asked for this number of fibers less.
  void expect_fewer(std::size_t fibers) {
    const std::scoped_lock lock(mutex_);
    fibers_ -= fibers;
    if (fibers_ == 0 || suffice()) ready_.notify_one();
  }

  /// Runs `body(i)` for each stack i, each in a fiber of its own on this thread, and returns when all have
  /// ended. `body` must not throw.
  void run(std::span<const FiberStack> stacks, FunctionRef<void(std::size_t)> body) {
    Thread self;
    std::vector<std::unique_ptr<Fiber>> fibers;
    for (std::size_t i = 0; i < stacks.size(); ++i) {
      fibers.push_back(std::make_unique<Fiber>(stacks[i], [&body, &self, i] {
        body(i);
        ++self.ended;
      }));
      self.ready.push_back(fibers.back().get());
    }
    current_ = &self;
    for (std::size_t ended = 0; ended < stacks.size();) {
      ended += resume(self);
      if (ended < stacks.size()) self.wait_for_ready();
    }
    current_ = nullptr;
  }

  // Called by a body of `run`:

  /// Waits until the request has been served. Throws `Closed`.
  void wait_for(Request& request) {
    if (closed_) throw Closed();
    Thread& self = *current_;
    self.requests.push_back({&request, self.running, &self});
    self.running->suspend();
    if (closed_) throw Closed();
  }
  /// Calls `work` for each index below `count`, in fibers that wait at the same time. Throws what one of them
  /// throws.
  void for_each(std::size_t count, FunctionRef<void(std::size_t)> work) {
    Thread& self = *current_;
    Fiber* const caller = self.running;
    std::exception_ptr thrown;
    const auto keep = [&](std::size_t i) {
      try {
        work(i);
      } catch (...) {
        thrown = std::current_exception();
      }
    };
    std::vector<FiberStack> stacks;
    std::vector<std::unique_ptr<Fiber>> others;
    std::size_t left = count - std::min<std::size_t>(count, 1);
    bool is_waiting = false;
    for (std::size_t i = 1; i < count; ++i) stacks.push_back(self.take_stack());
    for (std::size_t i = 1; i < count; ++i) {
      others.push_back(std::make_unique<Fiber>(stacks[i - 1], [&, i] {
        keep(i);
        --left;
        if (left == 0 && is_waiting) self.ready.push_back(caller);
      }));
      self.ready.push_back(others.back().get());
    }
    if (count > 0) keep(0);
    is_waiting = true;
    if (left > 0) caller->suspend();
    others.clear();
    for (FiberStack& stack : stacks) self.spare.push_back(std::move(stack));
    if (thrown) std::rethrow_exception(thrown);
  }

  // Called by the thread that serves:

  /// The next requests; none once all fibers have ended.
  [[nodiscard]] Batch next() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return fibers_ == 0 || suffice(); });
    return std::exchange(waiting_, {});
  }
  /// The next requests; none if too few fibers wait.
  [[nodiscard]] Batch next_if_ready() {
    const std::scoped_lock lock(mutex_);
    return suffice() ? std::exchange(waiting_, {}) : Batch();
  }
  /// The requests have been served.
  void finish(const Batch& batch) { wake(batch); }
  /// Lets all fibers that wait, or will, throw, except for those in batches that are not finished.
  void close() {
    Batch waiting;
    {
      const std::scoped_lock lock(mutex_);
      closed_ = true;
      std::swap(waiting, waiting_);
    }
    wake(waiting);
  }

 private:
  /// A thread in `run`.
  struct Thread {
    Fiber* running = nullptr;
    std::vector<Fiber*> ready;
    std::vector<Waiting> requests;  ///< not yet in the queue
    std::size_t ended = 0;          ///< bodies that ended since `resume` last counted them
    std::vector<FiberStack> spare;
    std::mutex mutex;
    std::condition_variable served;
    std::vector<Fiber*> woken;

    void wait_for_ready() {
      std::unique_lock lock(mutex);
      served.wait(lock, [&] { return !woken.empty(); });
      ready.clear();
      std::swap(ready, woken);
    }
    FiberStack take_stack() {
      if (spare.empty()) return FiberStack();
      FiberStack stack = std::move(spare.back());
      spare.pop_back();
      return stack;
    }
  };

  /// Resumes each fiber that is ready, and queues their requests. Returns how many bodies have ended.
  std::size_t resume(Thread& self) {
    // The queue gets requests while others are still to be made, so that they are served meanwhile.
    constexpr std::size_t at_once = 16;
    std::size_t ended = 0;
    for (std::size_t i = 0; i < self.ready.size(); ++i) {
      self.running = self.ready[i];
      self.running->resume();
      if (self.requests.size() < at_once && i + 1 < self.ready.size()) continue;
      ended += self.ended;
      put(self, std::exchange(self.ended, 0));
    }
    return ended;
  }
  void put(Thread& self, std::size_t ended) {
    bool is_closed = false;
    {
      const std::scoped_lock lock(mutex_);
      fibers_ -= ended;
      is_closed = closed_;
      if (!is_closed) waiting_.insert(waiting_.end(), self.requests.begin(), self.requests.end());
      if (fibers_ == 0 || suffice()) ready_.notify_one();
    }
    if (is_closed) wake(self.requests);
    self.requests.clear();
  }
  /// Whether the batch is large enough to be served while the other fibers run.
  [[nodiscard]] bool suffice() const {
    constexpr std::size_t share = 4;
    return !waiting_.empty() && waiting_.size() >= fibers_ / share;
  }
  static void wake(const Batch& some) {
    // Those of a thread are mostly neighbours.
    for (std::size_t i = 0; i < some.size();) {
      Thread& thread = *some[i].thread;
      const std::scoped_lock lock(thread.mutex);
      for (; i < some.size() && some[i].thread == &thread; ++i) thread.woken.push_back(some[i].fiber);
      thread.served.notify_one();
    }
  }

  static thread_local inline Thread* current_ = nullptr;

  std::mutex mutex_;
  std::condition_variable ready_;
  std::size_t fibers_;
  Batch waiting_;
  std::atomic<bool> closed_ = false;
};

}  // namespace TESSERA_NAMESPACE::gam
