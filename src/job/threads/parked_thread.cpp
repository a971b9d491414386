// SPDX-License-Identifier: Apache-2.0
#include "job/threads/parked_thread.hpp"

#include "base/signals_blocked.hpp"
#include "mpi/process_owner.hpp"

#include <tessera/error.hpp>

#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace TESSERA_NAMESPACE {

ParkedThread::ParkedThread(std::chrono::microseconds patience, std::function<void()> work)
    : work_(std::move(work)) {
  // In a host program's process, only its own threads receive asynchronous signals.
  std::optional<base::SignalsBlocked> blocked;
  if (!mpi::detail::process_is_owned()) blocked.emplace();
  try {
    thread_ = std::jthread([this, patience] { serve(patience); });
  } catch (const std::system_error& refusal) {
    throw Error(
        ErrorCode::job_fault,
        std::string("the system cannot start a thread (") + refusal.what() +
            "): raise the limits of processes and memory (ulimit -u, ulimit -v, the cgroup's pids.max)");
  }
}

ParkedThread::~ParkedThread() {
  end();
}

void ParkedThread::end() noexcept {
  ending_.store(true, std::memory_order_relaxed);
  call();
}

void ParkedThread::call() noexcept {
  calls_.fetch_add(1, std::memory_order_release);
  calls_.notify_one();
}

void ParkedThread::serve(std::chrono::microseconds patience) {
  for (std::uint32_t seen = 0;;) {
    (void)is_over_within(patience, [&] { return calls_.load(std::memory_order_relaxed) != seen; });
    calls_.wait(seen, std::memory_order_acquire);
    seen = calls_.load(std::memory_order_acquire);
    if (ending_.load(std::memory_order_relaxed)) return;
    work_();
  }
}

}  // namespace TESSERA_NAMESPACE
