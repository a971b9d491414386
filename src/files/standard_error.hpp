// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>
#include <tessera/printable.hpp>

/// What is said beside a result never decides about it: a log whose disk is full, or that nobody reads any
/// more, ends no program.
namespace tessera::files {

/// Writes to a log as it is, and flushes it. What cannot be written is dropped: false, with `errno`.
inline bool say_raw(std::string_view text, std::FILE* log) noexcept {
  const bool said = std::fwrite(text.data(), 1, text.size(), log) == text.size() && std::fflush(log) == 0;
  if (!said) std::clearerr(log);
  return said;
}

/// Writes lines, without what a terminal would take for a command.
inline bool say(std::string_view lines, std::FILE* log = stderr) noexcept {
  const bool said = write_printable(log, {lines}, Lines::many);
  if (!said) std::clearerr(log);
  return said;
}
/// Writes texts as one line, whatever is in them, and ends it.
inline bool say_line(std::initializer_list<std::string_view> texts, std::FILE* log = stderr) noexcept {
  const bool said = write_printable(log, texts);
  if (!said) std::clearerr(log);
  return said;
}

/// To be called first in a program. A log that is closed fails to be written, without a signal; and where a
/// standard descriptor is closed, no file or connection gets its number, and with it what is meant for the
/// log.
inline void keep_logs_harmless() noexcept {
  std::signal(SIGPIPE, SIG_IGN);
  // Opened for the other direction, so that using them is an error and not silence. The lowest free number is
  // taken, so that those before are open by then.
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) == -1 && errno == EBADF)
      static_cast<void>(::open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY));
  }
}

}  // namespace tessera::files
