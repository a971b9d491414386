// SPDX-License-Identifier: Apache-2.0
#include "gam/many/request_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

struct Sum {
  int value = 0;
  int served = 0;
};
using Queue = RequestQueue<Sum>;

TEST(RequestQueue, ServesEachRequestOnce) {
  constexpr std::size_t thread_count = 40;
  constexpr int requests = 300;
  Queue queue(thread_count);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (std::size_t i = 0; i < thread_count; ++i) {
    threads.emplace_back([&, i] {
      Sum sum;
      // Some leave earlier than others.
      const int own = requests + static_cast<int>(i);
      for (int request = 0; request < own; ++request) {
        queue.wait_for(sum);
        if (sum.served != request + 1) ++wrong;
      }
      queue.leave();
    });
  }
  int served = 0;
  for (auto batch = queue.next(); !batch.empty(); batch = queue.next()) {
    for (Sum* const each : batch) ++each->served;
    served += static_cast<int>(batch.size());
    queue.finish();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(served, static_cast<int>(thread_count) * requests +
                        static_cast<int>(thread_count * (thread_count - 1) / 2));
}

TEST(RequestQueue, LetsAllThreadsEndOnceItIsClosed) {
  constexpr std::size_t thread_count = 16;
  Queue queue(thread_count);
  std::atomic<int> closed = 0;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < thread_count; ++i) {
    threads.emplace_back([&] {
      Sum sum;
      try {
        while (true) queue.wait_for(sum);
      } catch (const Queue::Closed&) {
        ++closed;
      }
      queue.leave();
    });
  }
  int batches = 0;
  for (auto batch = queue.next(); !batch.empty(); batch = queue.next()) {
    if (++batches == 20)
      queue.close();
    else
      queue.finish();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(closed, static_cast<int>(thread_count));
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
