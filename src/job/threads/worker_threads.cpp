// SPDX-License-Identifier: Apache-2.0
#include "job/threads/worker_threads.hpp"

#include "job/threads/parked_thread.hpp"

#include <optional>

namespace TESSERA_NAMESPACE {

struct WorkerThreads::Worker {
  std::size_t position = 0;  ///< index in `called_`
  bool has_ended = false;    ///< whether `work` has ended the thread (pthread_exit)
  std::optional<ParkedThread> thread;
};

/// RAII, so that the end of the work is reported even if pthread_exit unwinds the thread.
class WorkerThreads::Turn {
 public:
  Turn(WorkerThreads& threads, Worker& worker) : threads_(threads), worker_(worker) {}
  ~Turn() {
    worker_.has_ended = !is_over_;
    if (threads_.running_.fetch_sub(1, std::memory_order_acq_rel) == 1) threads_.completion_.notify();
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
  for (const auto& worker : workers_)
    if (worker) worker->thread->end();
}

void WorkerThreads::start(int worker) {
  auto& its = workers_[static_cast<std::size_t>(worker)];
  if (its && !its->has_ended) return;
  its.reset();
  auto started = std::make_unique<Worker>();
  started->thread.emplace(patience_, [this, worker] { take_turn(worker); });
  its = std::move(started);
}

void WorkerThreads::wake(std::size_t position) {
  if (position < called_.size()) workers_[static_cast<std::size_t>(called_[position])]->thread->call();
}

void WorkerThreads::take_turn(int worker) {
  Worker& me = *workers_[static_cast<std::size_t>(worker)];
  Turn turn(*this, me);
  wake(2 * me.position + 1);
  wake(2 * me.position + 2);
  work_(worker);
  turn.end();
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
  completion_.wait(
      patience_, [&] { return running_.load(std::memory_order_acquire) == 0; }, progress);
}

}  // namespace TESSERA_NAMESPACE
