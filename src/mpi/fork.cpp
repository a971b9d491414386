// SPDX-License-Identifier: Apache-2.0
#include "mpi/fork.hpp"

#include "mpi/abort.hpp"

#include <pthread.h>

#include <atomic>

namespace TESSERA_NAMESPACE::mpi::detail {
namespace {

std::atomic<bool> is_rank = false;
std::atomic<bool> forked = false;
std::atomic<int> counted = 0;

void in_child() noexcept {
  ++counted;
  if (is_rank) forked = true;
}

/// A handler (pthread_atfork) is cheaper than comparing getpid(), a system call.
bool count_forks() noexcept {
  static const bool counts = pthread_atfork(nullptr, nullptr, &in_child) == 0;
  return counts;
}

}  // namespace

void watch_for_forks() {
  is_rank = true;
  static const bool watched = [] {
    if (!count_forks()) say("pthread_atfork failed, so a forked child may act as this rank: do not fork");
    return true;
  }();
  static_cast<void>(watched);
}

bool is_forked_child() noexcept {
  return forked.load(std::memory_order_relaxed);
}

int forks() noexcept {
  static_cast<void>(count_forks());
  return counted.load(std::memory_order_relaxed);
}

}  // namespace TESSERA_NAMESPACE::mpi::detail
