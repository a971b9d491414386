// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <tessera/error.hpp>
#include <tessera/printable.hpp>

/// Standard output; `flush_output` completes it. All throw `Error(input)` with the system's reason: a full
/// disk is an error, not a truncated result. A pipe that nobody reads any more ends the process by SIGPIPE.
namespace tessera::files {

/// After a write that has failed: where the reader of a pipe has gone, as `head` does, ends the process as
/// SIGPIPE would have if the programs did not ignore it for their logs' sake. Keeps `errno`.
inline void end_if_unread() noexcept {
  const int reason = errno;
  if (reason == EPIPE) {
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
  }
  errno = reason;
}

[[noreturn]] inline void refuse_output() {
  end_if_unread();
  throw Error(ErrorCode::input, std::string("standard output cannot be written: ") + std::strerror(errno));
}

/// Writes data for another program, unchanged.
inline void write_data(std::string_view data) {
  if (std::fwrite(data.data(), 1, data.size(), stdout) != data.size()) refuse_output();
}
/// Writes text for a person, without terminal control sequences.
inline void write_output(std::string_view text) {
  write_data(printable(text, Lines::many));
}

inline void flush_output() {
  if (std::fflush(stdout) != 0) refuse_output();
}

}  // namespace tessera::files
