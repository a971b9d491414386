// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/pirls/serial_residuals.hpp"

#include "base/at.hpp"
#include "gam/fit/run/block_sums.hpp"
#include "gam/rows/row_residuals.hpp"

#include <cstddef>
#include <deque>
#include <unordered_map>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// Adds the sums of one block: sum and number of squares, then for each lag sum and number of products.
void add_block(const Rows& rows, RowResiduals& residuals, std::size_t begin, std::size_t end, int lags,
               int group, std::span<double> sums) {
  std::unordered_map<double, std::deque<double>> pasts;  // by series: residuals of earlier rows, latest first
  const Variable* const groups = group < 0 ? nullptr : &rows.frame->variables[at(group)];
  for (std::size_t row = begin; row < end; ++row) {
    if (rows.frame->complete[row] == 0) continue;
    std::deque<double>& past = pasts[groups == nullptr ? 0
                                     : groups->factor  ? groups->codes[row]
                                                       : groups->numbers[row]];
    if (groups == nullptr && rows.series.begins_at(*rows.frame, row)) past.clear();
    const double own = residuals.standardised(row);
    sums[0] += own * own;
    sums[1] += 1;
    for (std::size_t lag = 0; lag < past.size(); ++lag) {
      sums[2 * lag + 2] += own * past[lag];
      sums[2 * lag + 3] += 1;
    }
    past.push_front(own);
    if (past.size() > at(lags)) past.pop_back();
  }
}

}  // namespace

SerialResiduals serial_residuals(const FitContext& fit, const Rows& rows, std::span<const double> raw_coef,
                                 int lags, int group) {
  PhaseClock clock(fit.job.comm(), fit.phases, "outline", "the autocorrelation of residuals");
  const std::size_t width = 2 * at(lags) + 2;
  const std::vector<double> all = sums_over_blocks<RowResiduals>(
      fit, rows, width,
      [&](RowResiduals& residuals, std::size_t begin, std::size_t end, std::span<double> sums) {
        add_block(rows, residuals, begin, end, lags, group, sums);
      },
      rows, raw_coef);
  SerialResiduals out{all[0], {}};
  for (std::size_t i = 2; i < width; i += 2) {
    const bool known = all[i + 1] > 0 && all[0] > 0;
    out.autocorrelation.push_back(known ? (all[i] / all[i + 1]) / (all[0] / all[1]) : 0);
  }
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam
