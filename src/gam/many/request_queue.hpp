// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/fiber.hpp"

#include <tessera/function.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Requests of many fibers, each of which waits for its own, to one thread that serves them in batches. The
/// fibers run on a few threads; a thread sleeps only if all of its fibers wait.
template <class Request>
class RequestQueue {
 public:
  /// Thrown by `wait_for` once the queue is closed.
  struct Closed {};

  /// `fibers`: the number of fibers that `run` will be asked for by all threads.
  explicit RequestQueue(std::size_t fibers) : fibers_(fibers) {}

  /// Runs `body(i)` for each stack i, each in a fiber of its own on this thread, and returns when all have
  /// ended. `body` must not throw.
  void run(std::span<const FiberStack> stacks, FunctionRef<void(std::size_t)> body) {
    Thread self;
    for (std::size_t i = 0; i < stacks.size(); ++i)
      self.fibers.push_back(std::make_unique<Fiber>(stacks[i], [&body, i] { body(i); }));
    current_ = &self;
    for (const auto& fiber : self.fibers) self.ready.push_back(fiber.get());
    for (std::size_t left = stacks.size(); left > 0;) {
      left -= resume(self);
      if (left > 0) self.wait_for_ready();
    }
    current_ = nullptr;
  }
  /// `run` will be asked for this number of fibers less.
  void expect_fewer(std::size_t fibers) {
    const std::scoped_lock lock(mutex_);
    fibers_ -= fibers;
    if (fibers_ == 0 || suffice()) ready_.notify_one();
  }
  /// Waits until the request has been served. Called by a body of `run`. Throws `Closed`.
  void wait_for(Request& request) {
    if (closed_) throw Closed();
    Thread& self = *current_;
    Fiber* const fiber = self.running;
    self.requests.push_back({&request, fiber, &self});
    fiber->suspend();
    if (closed_) throw Closed();
  }

  /// The next requests to serve, valid until the next call; none once all fibers have ended.
  [[nodiscard]] std::span<Request* const> next() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return fibers_ == 0 || suffice(); });
    serving_.clear();
    std::swap(serving_, waiting_);
    requests_.clear();
    for (const Waiting& waiting : serving_) requests_.push_back(waiting.request);
    return requests_;
  }
  /// The requests of the last `next` have been served.
  void finish() { wake(serving_); }
  /// Lets all fibers that wait, or will, throw.
  void close() {
    std::vector<Waiting> waiting;
    {
      const std::scoped_lock lock(mutex_);
      closed_ = true;
      std::swap(waiting, waiting_);
      waiting.insert(waiting.end(), serving_.begin(), serving_.end());
      serving_.clear();
    }
    wake(waiting);
  }

 private:
  struct Thread;
  struct Waiting {
    Request* request;
    Fiber* fiber;
    Thread* thread;
  };
  /// A thread in `run`.
  struct Thread {
    std::vector<std::unique_ptr<Fiber>> fibers;
    Fiber* running = nullptr;
    std::vector<Fiber*> ready;
    std::vector<Waiting> requests;  ///< not yet in the queue
    std::mutex mutex;
    std::condition_variable served;
    std::vector<Fiber*> woken;

    void wait_for_ready() {
      std::unique_lock lock(mutex);
      served.wait(lock, [&] { return !woken.empty(); });
      ready.clear();
      std::swap(ready, woken);
    }
  };

  /// Resumes each fiber that is ready, and queues their requests. Returns how many have ended.
  std::size_t resume(Thread& self) {
    // The queue gets requests while others are still to be made, so that they are served meanwhile.
    constexpr std::size_t at_once = 8;
    std::size_t ended = 0;
    std::size_t all_ended = 0;
    for (std::size_t i = 0; i < self.ready.size(); ++i) {
      self.running = self.ready[i];
      self.running->resume();
      ended += self.running->has_ended() ? 1 : 0;
      if (self.requests.size() < at_once && i + 1 < self.ready.size()) continue;
      all_ended += ended;
      put(self, ended);
      ended = 0;
    }
    return all_ended;
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
  /// Whether a batch is worth serving: the other fibers run meanwhile.
  [[nodiscard]] bool suffice() const {
    constexpr std::size_t share = 4;
    return !waiting_.empty() && waiting_.size() >= fibers_ / share;
  }
  static void wake(std::span<const Waiting> some) {
    // Those of a thread are mostly neighbours.
    for (std::size_t begin = 0; begin < some.size();) {
      Thread& thread = *some[begin].thread;
      std::size_t end = begin;
      const std::scoped_lock lock(thread.mutex);
      for (; end < some.size() && some[end].thread == &thread; ++end) thread.woken.push_back(some[end].fiber);
      thread.served.notify_one();
      begin = end;
    }
  }

  static thread_local inline Thread* current_ = nullptr;

  std::mutex mutex_;
  std::condition_variable ready_;
  std::size_t fibers_;
  std::vector<Waiting> waiting_, serving_;
  std::vector<Request*> requests_;
  std::atomic<bool> closed_ = false;
};

}  // namespace TESSERA_NAMESPACE::gam
