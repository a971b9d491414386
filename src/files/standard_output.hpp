// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <tessera/error.hpp>
#include <tessera/printable.hpp>

/// Standard output, with `flush_output` at its end. All throw `Error(input)` with the system's reason: a
/// full disk is an error, not half an answer.
namespace tessera::files {

[[noreturn]] inline void refuse_output() {
  throw Error(ErrorCode::input, std::string("standard output cannot be written: ") + std::strerror(errno));
}

/// Data for another program, as they are.
inline void write_data(std::string_view data) {
  if (std::fwrite(data.data(), 1, data.size(), stdout) != data.size()) refuse_output();
}
/// A text to be read, without what a terminal would take for a command.
inline void write_output(std::string_view text) {
  write_data(printable(text, Lines::many));
}

inline void flush_output() {
  if (std::fflush(stdout) != 0) refuse_output();
}

}  // namespace tessera::files
