// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <tessera/error.hpp>
#include <tessera/mpi/session.hpp>
#include <utility>

#include "base/stack_left.hpp"
#include "files/standard_error.hpp"
#include "files/standard_output.hpp"

/// The end of a program: its last line on standard error, even if memory is exhausted, and its exit status.
namespace tessera::apps {

/// Reserves 1 MiB, which the first failed allocation releases for destructors and the final message. Later
/// failures throw std::bad_alloc. To be called once, at the start of a program.
inline void keep_memory_in_reserve() noexcept {
  constexpr std::size_t bytes = std::size_t{1} << 20;
  static std::atomic<void*> reserve = ::operator new(bytes, std::nothrow);
  std::set_new_handler([] {
    void* const kept = reserve.exchange(nullptr);
    if (kept == nullptr) throw std::bad_alloc();
    ::operator delete(kept);
  });
}

inline void complain(const char* program, const char* what) noexcept {
  static_cast<void>(files::say_line({program, ": ", what}));
}

inline void complain_in_lines(const char* program, const std::string& what) {
  std::istringstream lines(what);
  for (std::string line; std::getline(lines, line);) complain(program, line.c_str());
}

/// Aborts all ranks after a failure on this rank only, because the other ranks may wait in a collective.
[[noreturn]] inline void end_job(const char* program, const std::optional<mpi::Session>& session,
                                 const char* what) noexcept {
  std::array<char, 4096> line{};
  static_cast<void>(session ? std::snprintf(line.data(), line.size(), "%s: rank %d: %s", program,
                                            session->world().rank(), what)
                            : std::snprintf(line.data(), line.size(), "%s: %s", program, what));
  mpi::abort_job(line.data(), exit_status(ErrorCode::job_fault));
}

/// Returns the exit status of `run` or of its exception; `run` makes the session if needed. An `Error` must
/// be thrown on all ranks; rank 0 prints it. Any other exception may be thrown on one rank and aborts the
/// job.
template <class Run>
int exit_status_of(const char* program, const std::optional<mpi::Session>& session, Run&& run) noexcept {
  std::signal(SIGXFSZ, SIG_IGN);  // beyond `ulimit -f` a write then fails, as on a full disk
  try {
    base::require_stack(base::kib_of_a_call, "the program");
    return std::forward<Run>(run)();
  } catch (const mpi::Failure& fault) {
    end_job(program, session, fault.what());
  } catch (const mpi::StartRefused& fault) {
    if (fault.is_root()) complain(program, fault.what());
    return exit_status(fault.code());
  } catch (const Error& fault) {
    files::end_if_unread();
    if (!session || session->is_root()) complain(program, fault.what());
    return exit_status(fault.code());
  } catch (const std::bad_alloc&) {
    end_job(program, session, "out of memory");
  } catch (const std::exception& fault) {
    end_job(program, session, fault.what());
  }
}

}  // namespace tessera::apps
