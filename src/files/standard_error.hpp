// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/write_printable.hpp"

/// Writes diagnostics to a log. A full disk or a closed pipe is not an error: a log never changes a program's
/// outcome.
namespace tessera::files {

/// Writes text unchanged to a log and flushes it. Returns false, with `errno`, if it could not be written.
inline bool say_raw(std::string_view text, std::FILE* log) noexcept {
  const bool said = std::fwrite(text.data(), 1, text.size(), log) == text.size() && std::fflush(log) == 0;
  if (!said) std::clearerr(log);
  return said;
}

/// Writes lines without terminal control sequences.
inline bool say(std::string_view lines, std::FILE* log = stderr) noexcept {
  const bool said = base::write_printable(log, {lines}, Lines::many);
  if (!said) std::clearerr(log);
  return said;
}
/// Writes texts as exactly one line.
inline bool say_line(std::initializer_list<std::string_view> texts, std::FILE* log = stderr) noexcept {
  const bool said = base::write_printable(log, texts);
  if (!said) std::clearerr(log);
  return said;
}

/// To be called first in a program. Makes writes to a closed log fail without SIGPIPE. Opens /dev/null for
/// each of descriptors 0 to 2 that is closed: otherwise a file or socket could get descriptor 2, and receive
/// the log.
inline void keep_logs_harmless() noexcept {
  std::signal(SIGPIPE, SIG_IGN);
  // Opened for the opposite direction, so that reading or writing fails. `open` returns the lowest free
  // number, `descriptor`, because all lower ones are open.
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) == -1 && errno == EBADF)
      static_cast<void>(::open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY));
  }
}

}  // namespace tessera::files
