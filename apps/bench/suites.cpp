// SPDX-License-Identifier: Apache-2.0
// The list of suites, in the order in which they run.
#include "suite.hpp"

namespace tessera::bench {

std::vector<Suite> all_suites() {
  std::vector<Suite> all;
  all.push_back(vote_suite());
  all.push_back(scatter_suite());
  all.push_back(stream_suite());
  all.push_back(sum_suite());
  all.push_back(gram_suite());
  all.push_back(fit_suite());
  all.push_back(predict_suite());
  all.push_back(crossed_suite());
  all.push_back(scale_suite());
  all.push_back(io_suite());
  all.push_back(start_suite());
  all.push_back(balance_suite());
  return all;
}

}  // namespace tessera::bench
