// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <tessera/error.hpp>
#include <tessera/printable.hpp>

/// Writes the programs' results to standard output; call `flush_output` last. All functions throw
/// `Error(input)` with the system's reason: a full disk must not pass for a complete result.
namespace tessera::files {

/// Whether the reader of the output pipe, such as `head`, has closed it.
inline std::atomic<bool> output_is_unread = false;

/// Ends the program by SIGPIPE if `output_is_unread`, as a closed pipe ends other programs. Until this call
/// the signal is ignored (see `keep_logs_harmless`).
inline void end_if_unread() noexcept {
  if (!output_is_unread) return;
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
}

[[noreturn]] inline void refuse_output() {
  if (errno == EPIPE) output_is_unread = true;
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
