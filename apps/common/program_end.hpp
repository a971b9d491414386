// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

/// The end of a program: the last line on standard error, even without free memory, and the exit status (see
/// `ErrorCode` in error.hpp).
namespace tessera::apps {

/// Reserves 1 MiB. The first failed allocation releases it, so that destructors and the final message have
/// memory; later failures throw std::bad_alloc. Call this once, first in a program.
inline void keep_memory_in_reserve() noexcept {
  constexpr std::size_t bytes = std::size_t{1} << 20;
  static std::atomic<void*> reserve = ::operator new(bytes, std::nothrow);
  std::set_new_handler([] {
    void* const kept = reserve.exchange(nullptr);
    if (kept == nullptr) throw std::bad_alloc();
    ::operator delete(kept);
  });
}

/// Prints the reason for the program's end.
inline void complain(const char* program, const char* what) noexcept {
  static_cast<void>(files::say_line({program, ": ", what}));
}

/// Prints the reason for the program's end, in several lines.
inline void complain_in_lines(const char* program, const std::string& what) {
  std::istringstream lines(what);
  for (std::string line; std::getline(lines, line);) complain(program, line.c_str());
}

/// Peak address space of this process (VmPeak) in MiB; 0: not known.
inline unsigned long peak_address_space() noexcept {
  std::array<char, 4096> status{};
  const int file = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const bool is_read = ::read(file, status.data(), status.size() - 1) > 0;
  ::close(file);
  constexpr const char* key = "VmPeak:";
  const char* const line = is_read ? std::strstr(status.data(), key) : nullptr;
  return line != nullptr ? std::strtoul(line + std::strlen(key), nullptr, 10) / 1024 : 0;
}

/// The message `what`. If an address space limit has caused "out of memory", adds the limit that would
/// suffice.
inline std::array<char, 4096> with_needed_space(const char* what) noexcept {
  constexpr unsigned long of_blas = 192;  // MiB: for a buffer of OpenBLAS and other threads
  std::array<char, 4096> text{};
  rlimit limit{};
  const bool is_limited = std::strstr(what, "out of memory") != nullptr &&
                          getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  const unsigned long peak = peak_address_space();
  static_cast<void>(
      is_limited ? std::snprintf(
                       text.data(), text.size(),
                       "%s: ulimit -v leaves %lu MiB of address space, of which %lu were taken, and "
                       "BLAS takes %lu at a time: allow %lu MiB or more",
                       what, static_cast<unsigned long>(limit.rlim_cur >> 20), peak, of_blas, peak + of_blas)
                 : std::snprintf(text.data(), text.size(), "%s", what));
  return text;
}

/// Ends all ranks after a failure on this rank only: others may be waiting for it in a collective.
[[noreturn]] inline void end_job(const char* program, const std::optional<mpi::Session>& session,
                                 const char* what) noexcept {
  std::array<char, 4096> line{};
  static_cast<void>(session ? std::snprintf(line.data(), line.size(), "%s: rank %d: %s", program,
                                            session->world().rank(), what)
                            : std::snprintf(line.data(), line.size(), "%s: %s", program, what));
  mpi::abort_job(line.data(), exit_status(ErrorCode::job_fault));
}

/// Returns the exit status of `run` or of its exception; `run` makes the session if needed. An `Error` is
/// thrown on all ranks and printed by rank 0; any other exception is thrown on one rank and ends the job.
template <class Run>
int exit_status_of(const char* program, const std::optional<mpi::Session>& session, Run&& run) noexcept {
  std::signal(SIGXFSZ, SIG_IGN);  // at the file size limit (ulimit -f) a write then fails, as on a full disk
  try {
    constexpr std::size_t kib = 48;  // size that suffices for an error message
    base::require_stack(kib, "the program");
    return std::forward<Run>(run)();
  } catch (const mpi::Failure& fault) {
    end_job(program, session, fault.what());
  } catch (const mpi::StartRefused& fault) {
    if (fault.is_root()) complain(program, fault.what());
    return exit_status(fault.code());
  } catch (const Error& fault) {
    files::end_if_unread();
    if (!session || session->is_root()) complain(program, with_needed_space(fault.what()).data());
    return exit_status(fault.code());
  } catch (const std::bad_alloc&) {
    end_job(program, session, with_needed_space("out of memory").data());
  } catch (const std::exception& fault) {
    end_job(program, session, fault.what());
  }
}

}  // namespace tessera::apps
