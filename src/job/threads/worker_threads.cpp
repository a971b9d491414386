// SPDX-License-Identifier: Apache-2.0
#include "job/threads/worker_threads.hpp"

#include <tessera/error.hpp>

#include <chrono>
#include <exception>
#include <string>
#include <system_error>

namespace tessera::inline TESSERA_ABI {
namespace {

/// Interval of the progress callback: a hundredth of the grace period in which other ranks expect a reply.
constexpr std::chrono::milliseconds progress_interval{20};

/// Waits for `is_over()`, for `patience` at most. Returns what it is then.
template <class IsOver>
bool is_over_within(std::chrono::microseconds patience, const IsOver& is_over) {
  const auto end = std::chrono::steady_clock::now() + patience;
  do {
    if (is_over()) return true;
    std::this_thread::yield();
  } while (std::chrono::steady_clock::now() < end);
  return is_over();
}

}  // namespace

/// Aligned to cache lines: the caller writes `turn` while other threads poll theirs.
struct alignas(64) WorkerThreads::Worker {
  std::atomic<std::uint32_t> turn = 0;  ///< incremented for each run that it takes part in, and for its end
  std::size_t position = 0;             ///< index in the run that starts with the next turn
  bool ending = false;
  bool has_ended = false;  ///< the work has ended the thread
  std::jthread thread;
};

/// Reports the end of a worker's turn, also if the thread is unwound by pthread_exit.
class WorkerThreads::Turn {
 public:
  Turn(WorkerThreads& threads, Worker& worker) : threads_(threads), worker_(worker) {}
  ~Turn() {
    worker_.has_ended = !is_over_;
    if (threads_.running_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const std::lock_guard lock(threads_.mutex_);
    threads_.all_done_.notify_one();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  void end() noexcept { is_over_ = true; }

 private:
  WorkerThreads& threads_;
  Worker& worker_;
  bool is_over_ = false;
};

WorkerThreads::WorkerThreads(std::size_t workers, std::chrono::microseconds patience)
    : patience_(patience), workers_(workers) {}

WorkerThreads::~WorkerThreads() {
  for (const auto& worker : workers_) {
    if (!worker) continue;
    worker->ending = true;
    worker->turn.fetch_add(1, std::memory_order_release);
    worker->turn.notify_one();
  }
}

void WorkerThreads::start(int worker) {
  auto& its = workers_[static_cast<std::size_t>(worker)];
  if (its && !its->has_ended) return;
  its.reset();
  auto started = std::make_unique<Worker>();
  Worker& begun = *started;
  its = std::move(started);
  try {
    begun.thread = std::jthread([this, worker] { serve(worker); });
  } catch (const std::system_error& refusal) {
    its.reset();
    throw Error(
        ErrorCode::job_fault,
        std::string("the system grants no thread to compute on (") + refusal.what() +
            "): raise the limits of processes and memory (ulimit -u, ulimit -v, the cgroup's pids.max)");
  }
}

std::size_t WorkerThreads::start_first(std::size_t wanted) {
  for (std::size_t worker = 0; worker < wanted; ++worker) {
    try {
      start(static_cast<int>(worker));
    } catch (const Error&) {
      if (worker == 0) throw;
      return worker;
    }
  }
  return wanted;
}

void WorkerThreads::wake(std::size_t position) {
  if (position >= called_.size()) return;
  Worker& worker = *workers_[static_cast<std::size_t>(called_[position])];
  worker.turn.fetch_add(1, std::memory_order_release);
  worker.turn.notify_one();
}

void WorkerThreads::serve(int worker) {
  Worker& me = *workers_[static_cast<std::size_t>(worker)];
  for (std::uint32_t seen = 0;; ++seen) {
    (void)is_over_within(patience_, [&] { return me.turn.load(std::memory_order_relaxed) != seen; });
    me.turn.wait(seen, std::memory_order_acquire);
    if (me.ending) return;
    Turn turn(*this, me);
    wake(2 * me.position + 1);
    wake(2 * me.position + 2);
    work_(worker);
    turn.end();
  }
}

void WorkerThreads::run(std::span<const int> workers, FunctionRef<void(int)> work,
                        FunctionRef<void()> progress) {
  if (workers.empty()) return;
  for (const int worker : workers) start(worker);
  for (std::size_t position = 0; position < workers.size(); ++position)
    workers_[static_cast<std::size_t>(workers[position])]->position = position;
  called_ = workers;
  work_ = work;
  running_.store(static_cast<std::uint32_t>(workers.size()), std::memory_order_release);
  wake(0);
  const auto is_done = [&] { return running_.load(std::memory_order_acquire) == 0; };
  if (is_over_within(patience_, is_done)) return;
  std::exception_ptr thrown;
  std::unique_lock lock(mutex_);
  while (!all_done_.wait_for(lock, progress_interval, is_done)) {
    if (!progress || thrown) continue;
    lock.unlock();
    try {
      progress();
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace tessera::inline TESSERA_ABI
