// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <tessera/error.hpp>

/// Standard output, with `flush_output` at its end. Both throw `Error(input)` with the system's reason: a
/// full disk is an error, not half an answer.
namespace tessera::apps {

[[noreturn]] inline void refuse_output() {
  throw Error(ErrorCode::input, std::string("standard output cannot be written: ") + std::strerror(errno));
}

inline void write_output(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) refuse_output();
}

inline void flush_output() {
  if (std::fflush(stdout) != 0) refuse_output();
}

}  // namespace tessera::apps
