// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>

#include <chrono>

namespace tessera::base {

/// Bytes written to the pipe and not read yet; 0 if `descriptor` is not a pipe.
[[nodiscard]] inline int unread_bytes(int descriptor) noexcept {
  struct stat status {};
  int bytes = 0;
  if (fstat(descriptor, &status) != 0 || !S_ISFIFO(status.st_mode)) return 0;
  return ioctl(descriptor, FIONREAD, &bytes) == 0 ? bytes : 0;
}

/// Waits until everything written to the pipe is read, but no longer than `limit`. Returns immediately if
/// `descriptor` is not a pipe.
inline void wait_until_read(int descriptor, std::chrono::milliseconds limit) noexcept {
  const auto start = std::chrono::steady_clock::now();
  const timespec pause{0, 1'000'000};
  while (unread_bytes(descriptor) > 0 && std::chrono::steady_clock::now() - start < limit)
    nanosleep(&pause, nullptr);
}

}  // namespace tessera::base
