// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/run/fit_context.hpp"
#include "gam/rows/columns.hpp"

#include <tessera/job/reproducible_sum.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* Sums of `width` numbers over the rows, on the job's host threads: `add(reader, begin, end,
/// sums)` adds the numbers of a block of local rows. Each thread has a copy of a `Reader`, constructed from
/// `arguments`. The bits are the same for any number of ranks and threads.
template <class Reader, class Add, class... Arguments>
[[nodiscard]] std::vector<double> sums_over_blocks(const FitContext& fit, const Rows& rows, std::size_t width,
                                                   const Add& add, const Arguments&... arguments) {
  const Frame& frame = *rows.frame;
  const std::vector<int> read = variables_read(rows);
  const auto threads = static_cast<std::size_t>(fit.job.threads());
  std::vector<Reader> readers(threads, Reader(arguments...));
  std::vector<ReproducibleSum> sums(threads, ReproducibleSum(width));
  fit.job.host_team().for_each_block(frame.rows, fit.plan.block(), [&](int thread, Range block) {
    const auto begin = static_cast<std::size_t>(block.begin - frame.rows.begin);
    const auto end = static_cast<std::size_t>(block.end - frame.rows.begin);
    for (const int variable : read)
      frame.variables[static_cast<std::size_t>(variable)].prepare_to_read(begin, end);
    std::vector<double> partial(width);
    add(readers[static_cast<std::size_t>(thread)], begin, end, std::span(partial));
    sums[static_cast<std::size_t>(thread)].add(partial);
  });
  ReproducibleSum& sum = sums.front();
  for (std::size_t i = 1; i < sums.size(); ++i) sum.merge(sums[i]);
  sum.allreduce(fit.job.comm());
  return sum.values();
}

}  // namespace TESSERA_NAMESPACE::gam
