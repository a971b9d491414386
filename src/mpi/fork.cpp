// SPDX-License-Identifier: Apache-2.0
#include "mpi/fork.hpp"

#include "mpi/abort.hpp"

#include <pthread.h>

#include <atomic>

namespace TESSERA_NAMESPACE::mpi::detail {
namespace {

std::atomic<bool> forked = false;

}  // namespace

void watch_for_forks() {
  // Cheaper than a comparison of getpid(), which is a system call.
  static const bool watched = pthread_atfork(nullptr, nullptr, [] { forked = true; }) == 0;
  if (!watched) say("pthread_atfork failed: a forked child is taken for its rank");
}

bool is_forked_child() noexcept {
  return forked.load(std::memory_order_relaxed);
}

}  // namespace TESSERA_NAMESPACE::mpi::detail
