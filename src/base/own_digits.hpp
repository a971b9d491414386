// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/hash.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

/// Digits in the names of temporary files and folders: 16 random digits, then a hash of these in 16 digits.
/// The hash shows that this library created the file, even if a killed program left it empty. The name of
/// another program's file matches with probability 2^-64.
namespace tessera::base {

inline constexpr std::size_t random_digits = 16;

[[nodiscard]] inline std::string check_digits(std::string_view random) {
  return hex(fnv1a(random, fnv1a("tessera: a temporary file")));
}

[[nodiscard]] inline std::string new_own_digits() {
  std::uint64_t number = 0;
  // Fallback for kernels without getrandom. Weak random digits do no harm: creating an existing file fails.
  if (::getrandom(&number, sizeof number, 0) != sizeof number) {
    timespec now{};
    (void)::clock_gettime(CLOCK_REALTIME, &now);
    number = fnv1a(std::to_string(::getpid()) + ' ' + std::to_string(now.tv_sec) + ' ' +
                   std::to_string(now.tv_nsec));
  }
  const std::string random = hex(number);
  return random + check_digits(random);
}

[[nodiscard]] inline bool are_own_digits(std::string_view digits) {
  return digits.size() == 2 * random_digits &&
         digits.substr(random_digits) == check_digits(digits.substr(0, random_digits));
}

}  // namespace tessera::base
