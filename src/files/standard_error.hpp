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

/// Diagnostics on a log never change the outcome of a program: a full disk or a closed pipe is not an error.
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

/// Call it first in a program. Writing to a closed log then fails without a signal, and closed standard
/// descriptors are reserved, so that no file or connection gets their numbers and then the log's text.
inline void keep_logs_harmless() noexcept {
  std::signal(SIGPIPE, SIG_IGN);
  // Opened for the opposite direction, so that using them is an error. `open` assigns the lowest free number,
  // so all lower ones are open by then.
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) == -1 && errno == EBADF)
      static_cast<void>(::open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY));
  }
}

}  // namespace tessera::files
