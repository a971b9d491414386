// SPDX-License-Identifier: Apache-2.0
// The list of suites: a line to include one, a line to run it.
#include "crossed_suite.hpp"
#include "fit_suite.hpp"
#include "gram_suite.hpp"
#include "io_suite.hpp"
#include "predict_suite.hpp"
#include "resident_suite.hpp"
#include "scale_suite.hpp"
#include "scatter_suite.hpp"
#include "stream_suite.hpp"
#include "vote_suite.hpp"

namespace tessera::bench {

std::vector<Suite> all_suites() {
  std::vector<Suite> all;
  all.push_back(vote_suite());
  all.push_back(scatter_suite());
  all.push_back(resident_suite());
  all.push_back(stream_suite());
  all.push_back(gram_suite());
  all.push_back(fit_suite());
  all.push_back(predict_suite());
  all.push_back(crossed_suite());
  all.push_back(scale_suite());
  all.push_back(io_suite());
  return all;
}

}  // namespace tessera::bench
