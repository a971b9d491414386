// SPDX-License-Identifier: Apache-2.0
// The list of suites: a line to include one, a line to run it.
#include "fit_suite.hpp"

namespace tessera::bench {

std::vector<Suite> all_suites() {
  return {
      fit_suite(),
  };
}

}  // namespace tessera::bench
