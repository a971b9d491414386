// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace TESSERA_NAMESPACE {

/// The kind of an error. `exit_status` gives the exit status of a program for it.
enum class ErrorCode {
  usage,          ///< the call, command line or environment variable is wrong
  input,          ///< data or a file cannot be used
  not_converged,  ///< an iteration did not converge
  device_absent,  ///< a GPU is required, but none is available
  job_fault,      ///< the job as a whole cannot continue: a lost rank, or a failure of MPI or CUDA
  outdated_plan,  ///< all devices of a rank have failed: make a new plan, and move the data to it
  rolled_back,    ///< a device and its data were lost: arrays are back at their last versions in host memory
  interrupted,    ///< a stop of the job was requested (`StopRequest`)
};

namespace detail {

/// Replaces NUL bytes, which would end the C string of `what()`, by the text `\x00`.
inline std::string without_nul(std::string message) {
  for (std::size_t at = message.find('\0'); at != std::string::npos; at = message.find('\0', at))
    message.replace(at, 1, "\\x00");
  return message;
}

}  // namespace detail

/// The exception of this library. The message is one line: what failed, where, and what to do. NUL bytes in
/// it are written as `\x00`.
///
/// By default, neither a missing GPU nor a failed device is an error: see `Absence` and `Verdict`.
class TESSERA_EXPORT Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message)
      : std::runtime_error(detail::without_nul(message)), code_(code) {}

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

/// The exit status of Tessera's programs for an error of this kind. 75 is EX_TEMPFAIL of sysexits.h: running
/// the same command again resumes the job.
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
