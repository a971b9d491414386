// SPDX-License-Identifier: Apache-2.0
#include "c/handles.hpp"

#include "mpi/exception_message.hpp"

#include <tessera/error.hpp>
#include <tessera/job/together.hpp>
#include <tessera/memory/arena.hpp>
#include <tessera/mpi/exit_guard.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <limits>
#include <string_view>

namespace tessera::c {
namespace {

/// The last error of the thread. An array, because a thread-local object with a destructor would keep this
/// library loaded after dlclose.
thread_local std::array<char, 4096> last_error{};

/// Stores a text. A text that is too long is cut at a UTF-8 character boundary.
void keep_text(std::string_view text) noexcept {
  std::size_t bytes = std::min(text.size(), last_error.size() - 1);
  while (bytes < text.size() && bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U)
    --bytes;
  *std::ranges::copy(text.substr(0, bytes), last_error.begin()).out = '\0';
}

/// The exit status of Tessera's programs, except for two codes with their own statuses in C.
int status_for(ErrorCode code) noexcept {
  if (code == ErrorCode::outdated_plan) return TESSERA_OUTDATED_PLAN;
  if (code == ErrorCode::rolled_back) return TESSERA_ROLLED_BACK;
  return exit_status(code);
}

/// The inverse of `status_for`. Throws `Error(usage)` for an unknown status.
ErrorCode code_of(int status) {
  constexpr std::array codes = {ErrorCode::usage,         ErrorCode::input,      ErrorCode::not_converged,
                                ErrorCode::device_absent, ErrorCode::job_fault,  ErrorCode::outdated_plan,
                                ErrorCode::rolled_back,   ErrorCode::interrupted};
  for (const ErrorCode code : codes)
    if (status_for(code) == status) return code;
  throw Error(ErrorCode::usage, "tessera_together was called with the status " + std::to_string(status) +
                                    ": give a value of tessera_status");
}

}  // namespace

int keep_error() noexcept {
  const std::exception_ptr thrown = std::current_exception();
  keep_text(reason_of(thrown));
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    return status_for(error.code());
  } catch (...) {
    return TESSERA_JOB_FAULT;
  }
}

void refuse_null(const char* function, const char* name) {
  throw Error(ErrorCode::usage, std::string(function) + ": " + name + " is null");
}

void require_bytes(std::size_t bytes, std::int64_t count, const char* function, const char* name) {
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
  const auto units = static_cast<std::size_t>(std::max<std::int64_t>(count, 1));
  if (bytes >= 1 && bytes <= most / units) return;
  throw Error(ErrorCode::usage,
              std::string(function) + ": " + name + " is " + std::to_string(bytes) +
                  (bytes == 0 ? ": give 1 byte or more"
                              : ", which is too large for " + std::to_string(units) + " units"));
}

}  // namespace tessera::c

using tessera::c::require;
using tessera::c::status_of;

int32_t tessera_c_version(void) {
  return TESSERA_C_VERSION;
}
const char* tessera_library_version(void) {
  return tessera::version();
}
const char* tessera_error(void) {
  return tessera::c::last_error.data();
}
void tessera_copy_text(const char* text, char* copy, size_t length) {
  const std::string_view whole(text != nullptr ? text : "");
  std::ranges::fill(std::ranges::copy(whole.substr(0, length), copy).out, copy + length, ' ');
}

void tessera_watch_exits(int32_t watched) {
  tessera::mpi::watch_exits(watched != 0);
}

int tessera_job_open(MPI_Comm comm, const tessera_options* options, tessera_job** job) {
  return status_of([&] {
    require(job, "tessera_job_open", "job");
    *job = nullptr;
    auto own = tessera::mpi::Communicator::duplicate_of(comm);
    tessera::JobOptions chosen;
    tessera::together(own, [&] { chosen = tessera::c::options_of(options); });
    tessera::Job opened(own, std::move(chosen));
    *job = new tessera_job{std::move(own), std::move(opened), {}};
  });
}
int tessera_job_open_fortran(MPI_Fint comm, const tessera_options* options, tessera_job** job) {
  return tessera_job_open(MPI_Comm_f2c(comm), options, job);
}
void tessera_job_close(tessera_job* job) {
  delete job;
}
int tessera_job_run_alive(tessera_job* job, tessera_work work, void* context) {
  return status_of([&] {
    require(job, "tessera_job_run_alive", "job");
    require(work, "tessera_job_run_alive", "work");
    job->job.run_alive([&] {
      if (const int returned = work(context); returned != 0)
        throw tessera::Error(tessera::ErrorCode::job_fault,
                             "the function of tessera_job_run_alive returned " + std::to_string(returned));
    });
  });
}
int32_t tessera_job_on_host(const tessera_job* job) {
  return job->job.on_host() ? 1 : 0;
}

int tessera_plan_open(const tessera_job* job, int64_t units, int64_t block, tessera_plan** plan) {
  return status_of([&] {
    require(job, "tessera_plan_open", "job");
    require(plan, "tessera_plan_open", "plan");
    *plan = nullptr;
    *plan = new tessera_plan{job->job.plan(units, block), job->job.comm().rank()};
  });
}
int tessera_plan_open_weighted(const tessera_job* job, int64_t units, int64_t block, tessera_weight weight,
                               void* context, tessera_plan** plan) {
  return status_of([&] {
    require(job, "tessera_plan_open_weighted", "job");
    require(plan, "tessera_plan_open_weighted", "plan");
    *plan = nullptr;
    require(weight, "tessera_plan_open_weighted", "weight");
    const tessera::PlanOptions options{.block = block,
                                       .weights = [&](std::int64_t unit) { return weight(unit, context); }};
    *plan = new tessera_plan{job->job.plan(units, options), job->job.comm().rank()};
  });
}
void tessera_plan_close(tessera_plan* plan) {
  delete plan;
}
tessera_range tessera_plan_local_range(const tessera_plan* plan) {
  return tessera::c::range_of(plan->plan.range_of(plan->rank));
}
int tessera_plan_range_of(const tessera_plan* plan, int32_t rank, tessera_range* range) {
  return status_of([&] {
    require(plan, "tessera_plan_range_of", "plan");
    require(range, "tessera_plan_range_of", "range");
    *range = tessera::c::range_of(plan->plan.range_of(rank));
  });
}

tessera_range tessera_tile_range(const tessera_tile* tile) {
  return tessera::c::range_of(tessera::c::tile_of(tile).range());
}
tessera_range tessera_tile_whole(const tessera_tile* tile) {
  return tessera::c::range_of(tessera::c::tile_of(tile).whole());
}
int32_t tessera_tile_device(const tessera_tile* tile) {
  return tessera::c::tile_of(tile).device_index();
}
int32_t tessera_tile_lane(const tessera_tile* tile) {
  return tessera::c::tile_of(tile).lane();
}
int64_t tessera_tile_memory_budget(const tessera_tile* tile) {
  return tessera::c::tile_of(tile).memory_budget_bytes();
}
int32_t tessera_tile_capability(const tessera_tile* tile) {
  const auto& capability = tessera::c::tile_of(tile).device().capability;
  return 10 * capability.major + capability.minor;
}
void* tessera_tile_stream(const tessera_tile* tile) {
  return tessera::c::tile_of(tile).stream().native();
}
void* tessera_tile_memory(tessera_tile* tile, size_t bytes) {
  void* memory = nullptr;
  if (status_of([&] { memory = tessera::c::tile_of(tile).arena().take_bytes(bytes); }) != TESSERA_OK)
    tessera_tile_fail(tile, tessera_error());
  return memory;
}
int32_t tessera_tile_stopping(const tessera_tile* tile) {
  return tessera::c::tile_of(tile).stopping() ? 1 : 0;
}
void tessera_tile_fail(tessera_tile* tile, const char* reason) {
  tessera::c::tile_of(tile).fail(reason != nullptr ? reason : "the device function gave no reason");
}

int tessera_together(const tessera_job* job, const char* purpose, int status, const char* reason) {
  return status_of([&] {
    require(job, "tessera_together", "job");
    tessera::together(job->job.comm(), purpose != nullptr ? purpose : "the work of the program", [&] {
      if (status != TESSERA_OK)
        throw tessera::Error(tessera::c::code_of(status), reason != nullptr ? reason : "no reason was given");
    });
  });
}
