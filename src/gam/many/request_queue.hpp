// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/fiber.hpp"

#include <tessera/function.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

using FiberPool = std::vector<std::unique_ptr<Fiber>>;

/// Queue from many fibers to one server thread, which serves requests in batches while the fibers wait. The
/// fibers run on a few threads. Such a thread sleeps only if all its fibers wait.
template <class Request>
class RequestQueue {
  struct Thread;

 public:
  /// Thrown by `wait_for` after `close`.
  struct Closed {};
  struct Waiting {
    Request* request;
    Fiber* fiber;
    Thread* thread;
  };
  using Batch = std::vector<Waiting>;

  /// `fibers`: total number of fibers of all calls of `run`, the sum of their `count`. `requests`: maximum
  /// number of concurrent requests of a fiber.
  explicit RequestQueue(std::size_t fibers, std::size_t requests = 1)
      : fibers_(fibers), requests_of_fiber_(std::min(requests, most_at_once)) {}
  /// Reduces the total number of fibers by `fibers`, which `run` will not be called for.
  void expect_fewer(std::size_t fibers) {
    const std::scoped_lock lock(mutex_);
    fibers_ -= fibers;
    if (fibers_ == 0 || enough_waiting()) ready_.notify_one();
  }

  /// Runs `body(i)` for i < `count`, each in its own fiber on this thread. Returns when all have ended.
  /// `body` must not throw. Takes fibers from `spare`, creates missing ones, and returns all to `spare`.
  void run(FiberPool& spare, std::size_t count, FunctionRef<void(std::size_t)> body) {
    Thread self(spare);
    FiberPool fibers;
    for (std::size_t i = 0; i < count; ++i) fibers.push_back(self.take_fiber());
    for (std::size_t i = 0; i < count; ++i) {
      fibers[i]->set_body([&body, &self, i] {
        body(i);
        ++self.ended;
      });
      self.ready.push_back(fibers[i].get());
    }
    current_ = &self;
    for (std::size_t ended = 0; ended < count;) {
      ended += resume(self);
      if (ended < count) self.wait_for_ready();
    }
    current_ = nullptr;
    std::ranges::move(fibers, std::back_inserter(spare));
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
  /// Calls `work` for each index below `count` in a few fibers, so that several requests wait concurrently.
  /// Rethrows an exception of `work`.
  void for_each(std::size_t count, FunctionRef<void(std::size_t)> work) {
    Thread& self = *current_;
    Fiber* const caller = self.running;
    std::exception_ptr thrown;
    std::size_t next = 0;
    const auto work_on = [&] {
      while (next < count) {
        try {
          work(next++);
        } catch (...) {
          thrown = std::current_exception();
        }
      }
    };
    FiberPool others;
    std::size_t left = count == 0 ? 0 : std::min(count, most_at_once) - 1;
    bool is_waiting = false;
    for (std::size_t i = 0; i < left; ++i) others.push_back(self.take_fiber());
    for (const std::unique_ptr<Fiber>& other : others) {
      other->set_body([&] {
        work_on();
        --left;
        if (left == 0 && is_waiting) self.ready.push_back(caller);
      });
      self.ready.push_back(other.get());
    }
    work_on();
    is_waiting = true;
    if (left > 0) caller->suspend();
    std::ranges::move(others, std::back_inserter(self.spare));
    if (thrown) std::rethrow_exception(thrown);
  }

  // Called by the server thread:

  /// Blocks until a batch is ready. Empty once all fibers have ended.
  [[nodiscard]] Batch next() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return fibers_ == 0 || enough_waiting(); });
    return std::exchange(waiting_, {});
  }
  /// Does not block. Empty if too few fibers wait.
  [[nodiscard]] Batch next_if_ready() {
    const std::scoped_lock lock(mutex_);
    return enough_waiting() ? std::exchange(waiting_, {}) : Batch();
  }
  /// Wakes the fibers of a served batch.
  void finish(const Batch& batch) { wake(batch); }
  /// Makes current and future calls of `wait_for` throw; calls in an unfinished batch throw at `finish`.
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
  /// Maximum number of fibers of `for_each`. Linux limits the mappings of a process; each stack takes two.
  static constexpr std::size_t most_at_once = 8;

  struct Thread {
    explicit Thread(FiberPool& pool) : spare(pool) {}
    Fiber* running = nullptr;
    std::vector<Fiber*> ready;
    std::vector<Waiting> requests;  ///< not yet in the queue
    std::size_t ended = 0;          ///< fibers that ended since the last `put`
    FiberPool& spare;
    std::mutex mutex;
    std::condition_variable served;
    std::vector<Fiber*> woken;

    void wait_for_ready() {
      std::unique_lock lock(mutex);
      served.wait(lock, [&] { return !woken.empty(); });
      ready.clear();
      std::swap(ready, woken);
    }
    std::unique_ptr<Fiber> take_fiber() {
      if (spare.empty()) return std::make_unique<Fiber>();
      std::unique_ptr<Fiber> fiber = std::move(spare.back());
      spare.pop_back();
      return fiber;
    }
  };

  /// Resumes each ready fiber, and queues the requests. Returns the number of fibers that have ended.
  std::size_t resume(Thread& self) {
    // Requests are queued in portions: the server starts on the first while fibers make others.
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
      if (fibers_ == 0 || enough_waiting()) ready_.notify_one();
    }
    if (is_closed) wake(self.requests);
    self.requests.clear();
  }
  /// Whether the batch is large enough to be served while other fibers run. True if all fibers wait.
  [[nodiscard]] bool enough_waiting() const {
    constexpr std::size_t share = 4;
    return !waiting_.empty() && waiting_.size() >= std::min(fibers_, fibers_ * requests_of_fiber_ / share);
  }
  static void wake(const Batch& some) {
    // Consecutive requests are mostly of one thread: lock its mutex once.
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
  std::size_t requests_of_fiber_;
  Batch waiting_;
  std::atomic<bool> closed_ = false;
};

}  // namespace TESSERA_NAMESPACE::gam
