// SPDX-License-Identifier: Apache-2.0
#include "mpi/abort.hpp"

#include "base/unread_pipe.hpp"
#include "base/write_printable.hpp"
#include "mpi/fork.hpp"

#include <tessera/mpi/communicator.hpp>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace TESSERA_NAMESPACE::mpi {
namespace detail {
namespace {

/// MPICH's launcher loses unread output at an abort, so the rank first waits until the output was read.
constexpr auto longest_wait_for_launcher = std::chrono::seconds(1);

}  // namespace

std::string seconds(std::chrono::milliseconds time) {
  const auto ms = time.count();
  if (ms % 1000 == 0) return std::to_string(ms / 1000) + " s";
  return std::to_string(ms) + " ms";
}

void say(std::string_view line, std::string_view rest) noexcept {
  static_cast<void>(base::write_printable(stderr, {"tessera: ", line, rest}));
}

void abort_ranks(int status) noexcept {
  if (is_forked_child()) std::_Exit(status);
  base::wait_until_read(STDERR_FILENO, longest_wait_for_launcher);
  abort_mpi(status);
  std::_Exit(status);
}

}  // namespace detail

void abort_job(std::string_view message, int status) {
  detail::say(message);
  detail::abort_ranks(status);
}

}  // namespace TESSERA_NAMESPACE::mpi
