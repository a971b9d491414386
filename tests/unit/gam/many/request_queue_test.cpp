// SPDX-License-Identifier: Apache-2.0
#include "gam/many/request_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

struct Sum {
  int value = 0;
  int served = 0;
};
using Queue = RequestQueue<Sum>;

constexpr std::size_t thread_count = 5;
constexpr std::size_t fiber_count = 13;  // of each thread

/// Runs `body(fiber)` in fibers of several threads while this one serves.
void run(Queue& queue, const std::function<void(std::size_t)>& body, const std::function<void()>& serve) {
  std::vector<FiberPool> fibers(thread_count);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < thread_count; ++t) {
    threads.emplace_back(
        [&, t] { queue.run(fibers[t], fiber_count, [&](std::size_t i) { body(t * fiber_count + i); }); });
  }
  serve();
  for (std::thread& thread : threads) thread.join();
}

TEST(RequestQueue, ServesEachRequestOnce) {
  constexpr int requests = 300;
  Queue queue(thread_count * fiber_count);
  std::atomic<int> wrong = 0;
  std::atomic<int> made = 0;
  int served = 0;
  run(
      queue,
      [&](std::size_t fiber) {
        Sum sum;
        // Some end earlier than others.
        for (int request = 0; request < requests + static_cast<int>(fiber); ++request) {
          ++made;
          queue.wait_for(sum);
          if (sum.served != request + 1) ++wrong;
        }
      },
      [&] {
        for (auto batch = queue.next(); !batch.empty(); batch = queue.next()) {
          for (const Queue::Waiting& each : batch) ++each.request->served;
          served += static_cast<int>(batch.size());
          queue.finish(batch);
        }
      });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(served, made);
}

TEST(RequestQueue, EndsAllFibersOnceItIsClosed) {
  Queue queue(thread_count * fiber_count);
  std::atomic<std::size_t> closed = 0;
  run(
      queue,
      [&](std::size_t) {
        Sum sum;
        try {
          while (true) queue.wait_for(sum);
        } catch (const Queue::Closed&) {
          ++closed;
        }
      },
      [&] {
        int batches = 0;
        for (auto batch = queue.next(); !batch.empty(); batch = queue.next()) {
          if (++batches == 20) queue.close();
          queue.finish(batch);
        }
      });
  EXPECT_EQ(closed, thread_count * fiber_count);
}

/// Several waits of one body at a time, also one within another.
TEST(RequestQueue, WaitsForSeveralRequestsAtATime) {
  Queue queue(thread_count * fiber_count);
  std::atomic<int> served = 0;
  std::atomic<std::size_t> caught = 0;
  std::size_t largest = 0;
  run(
      queue,
      [&](std::size_t fiber) {
        queue.for_each(4, [&](std::size_t i) {
          queue.for_each(i, [&](std::size_t) {
            Sum sum;
            queue.wait_for(sum);
            served += sum.served;
          });
        });
        try {
          queue.for_each(3, [&](std::size_t i) {
            Sum sum;
            queue.wait_for(sum);
            if (i == fiber % 3) throw std::out_of_range("on purpose");
          });
        } catch (const std::out_of_range&) {
          ++caught;
        }
      },
      [&] {
        for (auto batch = queue.next(); !batch.empty(); batch = queue.next()) {
          for (const Queue::Waiting& each : batch) ++each.request->served;
          largest = std::max(largest, batch.size());
          queue.finish(batch);
        }
      });
  EXPECT_EQ(served, static_cast<int>(thread_count * fiber_count * 6));
  EXPECT_EQ(caught, thread_count * fiber_count);
  EXPECT_GT(largest, 6U);
}

/// Exceptions within a fiber are caught there, also while others wait.
TEST(RequestQueue, LetsFibersThrowAndCatch) {
  Queue queue(thread_count * fiber_count);
  std::atomic<std::size_t> caught = 0;
  run(
      queue,
      [&](std::size_t fiber) {
        Sum sum;
        try {
          for (std::size_t i = 0; i <= fiber; ++i) queue.wait_for(sum);
          throw std::out_of_range(std::to_string(fiber));
        } catch (const std::out_of_range& error) {
          if (error.what() == std::to_string(fiber)) ++caught;
        }
      },
      [&] {
        for (auto batch = queue.next(); !batch.empty(); batch = queue.next()) queue.finish(batch);
      });
  EXPECT_EQ(caught, thread_count * fiber_count);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
