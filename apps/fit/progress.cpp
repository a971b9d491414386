// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include <fmt/chrono.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <tessera/printable.hpp>

#include "common/standard_input.hpp"
#include "common/streams.hpp"

namespace TESSERA_NAMESPACE::gam {

Progress::Progress(bool loud, std::FILE* stream)
    : loud_(loud),
      terminal_(loud && ::isatty(::fileno(stream)) != 0),
      stream_(stream),
      start_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  clear_line();
}

void Progress::write(std::string_view text) {
  if (!apps::say_raw(text, stream_) && problem_.empty()) problem_ = std::strerror(errno);
}

void Progress::clear_line() {
  if (line_open_) write("\r\033[K");
  line_open_ = false;
}

void Progress::now(std::string_view text) {
  if (!loud_) return;
  if (!terminal_) {
    note(text);
    return;
  }
  clear_line();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  write(fmt::format("{:6.1f} s  {}", elapsed.count(), printable(apps::with_input_named(text))));
  line_open_ = true;
}

void Progress::note(std::string_view text) {
  if (!loud_) return;
  clear_line();
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  write(fmt::format("{:%Y-%m-%d %H:%M:%S}  {}\n", local, printable(apps::with_input_named(text))));
}

}  // namespace TESSERA_NAMESPACE::gam
