// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace TESSERA_NAMESPACE {

/// The kind of an error. Programs turn it into an exit status (see `exit_status`).
enum class ErrorCode {
  usage,          ///< the call, command line or environment variable is wrong
  input,          ///< data or a file cannot be used
  not_converged,  ///< an iteration did not converge
  device_absent,  ///< a device is required and there is none
  job_fault,      ///< the job as a whole cannot continue: a lost rank, or a failure of MPI or CUDA
  outdated_plan,  ///< a rank has lost all of its devices: make a new plan, and move the data to it
  rolled_back,    ///< a device and its data were lost: arrays were reset to their last copies on the hosts
  interrupted,    ///< a stop of the job was requested (`StopRequest`): the same command resumes it
};

namespace detail {

/// A message that `what()` returns in full: a NUL byte, which would end the C string, is written as `\x00`.
inline std::string without_nul(std::string message) {
  for (std::size_t at = message.find('\0'); at != std::string::npos; at = message.find('\0', at))
    message.replace(at, 1, "\\x00");
  return message;
}

}  // namespace detail

/// The exception of this library, of one of the kinds of `ErrorCode`. The message is one line that says what,
/// where and what to do; a NUL byte, such as one from a table's text, is written as `\x00`.
///
/// A missing GPU is not an Error but an `Absence`; a device fault is not an Error but a `Verdict`.
class TESSERA_EXPORT Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message)
      : std::runtime_error(detail::without_nul(message)), code_(code) {}

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

/// The exit status that every Tessera program uses for an error of this kind:
/// 2 usage, 3 input, 4 not converged, 5 device required but absent, 6 job fault, outdated plan
/// or arrays rolled back, 75 interrupted (sysexits' EX_TEMPFAIL: try again).
[[nodiscard]] constexpr int exit_status(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::usage: return 2;
    case ErrorCode::input: return 3;
    case ErrorCode::not_converged: return 4;
    case ErrorCode::device_absent: return 5;
    case ErrorCode::job_fault:
    case ErrorCode::outdated_plan:
    case ErrorCode::rolled_back: return 6;
    case ErrorCode::interrupted: return 75;
  }
  return 6;
}

}  // namespace TESSERA_NAMESPACE
