// SPDX-License-Identifier: Apache-2.0
// The list of suites: a line to include one, a line to run it.
#include "claim_suite.hpp"
#include "fit_suite.hpp"
#include "partition_suite.hpp"
#include "pool_suite.hpp"
#include "probe_suite.hpp"
#include "scatter_suite.hpp"
#include "vote_suite.hpp"
#include "workspace_suite.hpp"

namespace tessera::bench {

std::vector<Suite> all_suites() {
  return {
      probe_suite(),  // the first: it measures the start of CUDA in this process
      claim_suite(), partition_suite(), vote_suite(), scatter_suite(),
      pool_suite(),  workspace_suite(), fit_suite(),
  };
}

}  // namespace tessera::bench
