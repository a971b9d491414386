// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

/// The protocol between a test and failing_calls.cpp, with which a program is started (LD_PRELOAD): the
/// program stops once MPI has started, and runs from there, in a child, once for each order, with one call
/// failing.
namespace tessera::failing {

/// The calls that fail, each with its variants: `open` includes openat, fopen and opendir.
enum Call : std::int32_t {
  open,
  read,
  pread,
  write,
  fsync,
  rename,
  link,
  unlink,
  close,
  status,
  allocate,
  map,
  reserve,
  calls
};

inline constexpr std::array<const char*, calls> names = {"open",   "read", "pread",    "write", "fsync",
                                                         "rename", "link", "unlink",   "close", "stat",
                                                         "malloc", "mmap", "fallocate"};

/// One run. The numbers count calls of the kind `call`, from 1.
struct Order {
  std::int32_t call = 0;
  std::int32_t first = 0;     ///< the first that fails; 0: none
  std::int32_t error = 0;     ///< errno; 0: a transfer moves one byte
  std::int32_t in_a_row = 1;  ///< so many fail from there on
  std::int32_t seconds = 0;   ///< after which the run is ended by SIGALRM
  std::int32_t traced = 0;    ///< where the first one fails is written to the program's standard error
};

struct Outcome {
  std::int32_t status = 0;  ///< as waitpid gives it
  std::int32_t failed = 0;  ///< so many calls
  std::array<std::int32_t, calls> made{};
};

/// The descriptors for orders and outcomes.
inline constexpr int orders = 198;
inline constexpr int outcomes = 199;
/// The environment variable of a program that receives orders.
inline constexpr const char* variable = "TESSERA_TEST_FAILING_CALLS";

}  // namespace tessera::failing
