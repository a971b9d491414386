// SPDX-License-Identifier: Apache-2.0
#include "gam/c/call.hpp"

#include "base/cancellation.hpp"
#include "base/number.hpp"
#include "base/signals_blocked.hpp"
#include "gam/c/errors.hpp"
#include "gam/c/structures.hpp"

#include <tessera/error.hpp>
#include <tessera/job/stop_request.hpp>
#include <tessera/mpi/communicator.hpp>
#include <tessera/mpi/exit_guard.hpp>
#include <tessera/mpi/fail_together.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#if TESSERA_HAVE_MPI
#include <mpi.h>
#endif

namespace TESSERA_NAMESPACE::gam::c {
namespace {

/// The longest time between calls of the caller's `cancelled`.
constexpr std::chrono::milliseconds pause(20);

[[noreturn]] void throw_cancelled() {
  throw Error(ErrorCode::interrupted, "cancelled by the caller");
}

/// Runs `work` on a second thread. The caller's thread takes progress messages, and can stop the work.
class WorkBeside final : public FitObserver {
 public:
  WorkBeside(JobOptions options, Call::Work work) : options_(std::move(options)), work_(work) {
    const base::SignalsBlocked blocked;
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& failed) {
      throw Error(ErrorCode::job_fault, std::string("cannot start a thread: ") + failed.what());
    }
  }
  ~WorkBeside() override {
    stop();
    thread_.join();
  }
  WorkBeside(const WorkBeside&) = delete;
  WorkBeside& operator=(const WorkBeside&) = delete;

  struct News {
    bool is_line = false;
    std::string text;
  };
  /// Waits for at most `pause`, and takes the messages that have arrived. Sets `is_over` once the work has
  /// ended.
  std::deque<News> take_news(bool& is_over) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, pause, [&] { return is_over_ || !news_.empty(); });
    is_over = is_over_;
    return std::exchange(news_, {});
  }
  void stop() {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
    if (stop_ != nullptr) stop_->request("the caller");
  }
  /// Rethrows the exception of the work, if there was one. Call after the end of the work.
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

  void now(std::string_view what) override { add({false, std::string(what)}); }
  void note(std::string_view what) override { add({true, std::string(what)}); }

 private:
  void run() noexcept {
    try {
      const auto comm = mpi::Communicator::serial();
      StopRequest stop(comm, {.signals = {}});
      announce(&stop);
      options_.stop = &stop;
      const auto check = [&] {
        if (stop.requested()) throw_cancelled();
      };
      try {
        const base::CancellationScope cancellation(check);
        Job job(comm, std::move(options_));
        work_(job, this);
      } catch (...) {
        thrown_ = std::current_exception();
      }
      announce(nullptr);
    } catch (...) {
      thrown_ = std::current_exception();
    }
    const std::scoped_lock lock(mutex_);
    is_over_ = true;
    changed_.notify_one();
  }
  void announce(StopRequest* stop) {
    const std::scoped_lock lock(mutex_);
    stop_ = stop;
    if (stop != nullptr && is_stopping_) stop->request("the caller");
  }
  void add(News one) {
    const std::scoped_lock lock(mutex_);
    // An activity message replaces the previous one if the caller has not taken the previous one yet.
    if (!one.is_line && !news_.empty() && !news_.back().is_line) news_.pop_back();
    news_.push_back(std::move(one));
    changed_.notify_one();
  }

  JobOptions options_;
  Call::Work work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<News> news_;
  StopRequest* stop_ = nullptr;
  bool is_stopping_ = false;
  bool is_over_ = false;
  std::exception_ptr thrown_;
  std::thread thread_;  // declared last, because the thread uses the other members
};

/// Calls the caller's callbacks for progress and cancellation on the thread that does the work.
class Telling final : public FitObserver {
 public:
  Telling(tessera_gam_progress progress, tessera_gam_cancelled cancelled, void* context, StopRequest& stop)
      : progress_(progress), cancelled_(cancelled), context_(context), stop_(stop) {}
  void now(std::string_view what) override { tell(0, what); }
  void note(std::string_view what) override { tell(1, what); }

 private:
  void tell(int is_line, std::string_view what) {
    if (progress_ != nullptr) progress_(is_line, std::string(what).c_str(), context_);
    if (cancelled_ != nullptr && cancelled_(context_) != 0) stop_.request("the caller");
  }

  tessera_gam_progress progress_;
  tessera_gam_cancelled cancelled_;
  void* context_;
  StopRequest& stop_;
};

}  // namespace

Call::Call(const tessera_gam_call* given) {
  if (given == nullptr) return;
  const tessera_gam_call call = read_structure(given, tessera_gam_call TESSERA_GAM_CALL, "call");
  require_possible(call.option_count, "the list of options");
  if (call.option_count > 0) require(call.options, "the list of options");
  for (std::size_t i = 0; i < call.option_count; ++i)
    options_.push_back({text_of(call.options[i].name, "an option's name"),
                        text_of(call.options[i].value, "an option's value")});
  progress_ = call.progress;
  cancelled_ = call.cancelled;
  context_ = call.context;
}

std::optional<mpi::Communicator> Call::take_communicator() {
  const auto given = std::ranges::find(options_, "comm", &NamedOption::name);
  if (given == options_.end()) return std::nullopt;
#if TESSERA_HAVE_MPI
  const auto handle = base::parse_number<MPI_Fint>(given->value);
  if (!handle)
    refuse(fmt::format(
        "comm '{}' is not the handle of a communicator: give the number that MPI_Comm_c2f returns",
        given->value));
  int initialised = 0;
  MPI_Initialized(&initialised);
  if (initialised == 0) refuse("comm is given, but MPI is not initialised: call MPI_Init_thread first");
  options_.erase(given);
  mpi::watch_exits(false);  // the host program decides how the process ends
  return mpi::Communicator::duplicate_of(MPI_Comm_f2c(*handle));
#else
  refuse("comm is given, but this library is built without MPI: remove comm");
#endif
}

void Call::run_over(const mpi::Communicator& comm, const JobOptions& options, Work work) const {
  mpi::fail_together(comm, [&] {
    StopRequest stop(comm, {.signals = {SIGINT}});
    Telling observer(progress_, cancelled_, context_, stop);
    JobOptions of_job = options;
    of_job.stop = &stop;
    Job job(comm, std::move(of_job));
    work(job, &observer);
  });
}

void Call::stop_if_cancelled() const {
  if (cancelled_ != nullptr && cancelled_(context_) != 0) throw_cancelled();
}

void Call::run(const JobOptions& options, Work work) const {
  stop_if_cancelled();
  if (progress_ == nullptr && cancelled_ == nullptr) {
    Job job(mpi::Communicator::serial(), options);
    work(job, nullptr);
    return;
  }
  WorkBeside beside(options, work);
  for (bool is_over = false, is_stopped = false; !is_over;) {
    for (const WorkBeside::News& one : beside.take_news(is_over)) {
      if (progress_ != nullptr) progress_(one.is_line ? 1 : 0, one.text.c_str(), context_);
    }
    if (is_over || is_stopped || cancelled_ == nullptr || cancelled_(context_) == 0) continue;
    beside.stop();
    is_stopped = true;
  }
  beside.rethrow();
}

}  // namespace TESSERA_NAMESPACE::gam::c
