// SPDX-License-Identifier: Apache-2.0
// Calls of BLAS end in a limited address space, in which OpenBLAS itself would wait for ever. A process keeps
// its buffers, so each test runs in a child.
#include "gam/linalg/blas_buffer.hpp"

#include "gam/linalg/linalg.hpp"
#include "support/address_limit.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <latch>
#include <new>
#include <thread>
#include <vector>

extern "C" void* blas_memory_alloc(int) __attribute__((weak));

namespace TESSERA_NAMESPACE::gam {
namespace {

using tessera::testing::AddressLimit;

constexpr std::size_t too_little = std::size_t{100} << 20;
constexpr int threads = 4;

class BlasBuffers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!tessera::testing::can_limit_address_space) GTEST_SKIP() << "sanitizers need the address space";
    if (blas_memory_alloc == nullptr) GTEST_SKIP() << "this BLAS is not OpenBLAS";
  }
};

/// The result of `work` in a forked child; -1: the child ended otherwise.
int in_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Matrix some_matrix() {
  Matrix a(300, 300);
  for (int j = 0; j < a.cols(); ++j) {
    for (int i = 0; i < a.rows(); ++i) a(i, j) = 1.0 / (1 + i + j);
  }
  return a;
}

bool lacks_memory() {
  try {
    const Matrix a = some_matrix();
    (void)multiply(a, a);
    return false;
  } catch (const std::bad_alloc&) {
    return true;
  }
}

/// Runs `work` on threads that existed before the limit, without memory for another buffer.
void in_threads(const std::function<void()>& work) {
  std::latch start(1);
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      start.wait();
      work();
    });
  }
  const AddressLimit limit(too_little);
  start.count_down();
  for (std::thread& thread : all) thread.join();
}

TEST_F(BlasBuffers, WithoutRoomAreALackOfMemoryUntilThereIsSome) {
  EXPECT_EQ(in_child([] {
              {
                const AddressLimit limit(too_little);
                if (!lacks_memory() || !lacks_memory()) return 1;
              }
              return lacks_memory() ? 2 : 0;
            }),
            0);
}

TEST_F(BlasBuffers, AreSharedByThreadsWhereAnotherHasNoRoom) {
  EXPECT_EQ(in_child([] {
              if (lacks_memory()) return 1;
              std::atomic<int> held = 0;
              std::atomic<bool> at_once = false;
              in_threads([&] {
                for (int repeat = 0; repeat < 100; ++repeat) {
                  const BlasBuffer buffer;
                  if (++held > 1) at_once = true;
                  std::this_thread::yield();
                  --held;
                }
              });
              return at_once ? 2 : 0;
            }),
            0);
}

TEST_F(BlasBuffers, ThatAreThereAreEnoughForAllThreads) {
  EXPECT_EQ(in_child([] {
              if (lacks_memory()) return 1;
              std::atomic<bool> failed = false;
              in_threads([&] {
                const Matrix a = some_matrix();
                for (int repeat = 0; repeat < 20; ++repeat) (void)multiply(a, a);
                if (lacks_memory()) failed = true;
              });
              return failed ? 2 : 0;
            }),
            0);
}

TEST_F(BlasBuffers, AreAnewInAForkedChild) {
  const BlasBuffer of_the_parent;
  EXPECT_EQ(in_child([] { return lacks_memory() ? 1 : 0; }), 0);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
