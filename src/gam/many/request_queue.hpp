// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Requests of several threads, each of which waits for its own, to one thread that serves them in batches.
template <class Request>
class RequestQueue {
 public:
  /// Thrown by `wait_for` once the queue is closed.
  struct Closed {};

  /// `threads` threads will make requests, until they leave.
  explicit RequestQueue(std::size_t threads) : threads_(threads) {}

  /// Waits until the request has been served. Throws `Closed`.
  void wait_for(Request& request) {
    std::uint64_t batch = 0;
    {
      const std::scoped_lock lock(mutex_);
      if (closed_) throw Closed();
      batch = collected_;
      waiting_.push_back(&request);
      if (suffice()) ready_.notify_one();
    }
    // A wait of its own for each batch, so that the end of one does not wake the threads of the next.
    std::atomic<std::uint64_t>& served = served_[batch % 2];
    for (std::uint64_t last = served.load(); last <= batch; last = served.load()) served.wait(last);
    if (closed_) throw Closed();
  }
  /// The calling thread makes no more requests.
  void leave() {
    const std::scoped_lock lock(mutex_);
    --threads_;
    if (threads_ == 0 || suffice()) ready_.notify_one();
  }

  /// The next requests to serve, valid until the next call; none once all threads have left.
  [[nodiscard]] std::span<Request* const> next() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return threads_ == 0 || suffice(); });
    serving_.clear();
    std::swap(serving_, waiting_);
    ++collected_;
    return serving_;
  }
  /// The requests of the last `next` have been served.
  void finish() { finish(collected_ - 1, collected_); }
  /// Lets all threads that wait, or will, throw.
  void close() {
    {
      const std::scoped_lock lock(mutex_);
      closed_ = true;
      waiting_.clear();
    }
    for (std::uint64_t i = 0; i < served_.size(); ++i) finish(i, std::numeric_limits<std::uint64_t>::max());
  }

 private:
  /// Whether a batch is worth serving: the other threads work meanwhile.
  [[nodiscard]] bool suffice() const {
    constexpr std::size_t share = 4;
    return !waiting_.empty() && waiting_.size() >= threads_ / share;
  }
  void finish(std::uint64_t batch, std::uint64_t value) {
    served_[batch % 2].store(value);
    served_[batch % 2].notify_all();
  }

  std::mutex mutex_;
  std::condition_variable ready_;
  std::size_t threads_;
  std::vector<Request*> waiting_, serving_;
  std::uint64_t collected_ = 0;                         ///< batches
  std::array<std::atomic<std::uint64_t>, 2> served_{};  ///< by parity of the batch: batches up to this one
  std::atomic<bool> closed_ = false;
};

}  // namespace TESSERA_NAMESPACE::gam
