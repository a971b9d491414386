// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/design/design.hpp"
#include "gam/family/family.hpp"
#include "gam/rows/device_table.hpp"
#include "gam/rows/level_pairs.hpp"
#include "gam/rows/row_sums.hpp"
#include "gam/rows/series.hpp"

#include <tessera/job/job.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The rows of a pass: this rank's part of the table, as the model uses it. If the design has several linear
/// predictors, the family is a `SeveralFamily`.
struct Rows {
  const Frame* frame = nullptr;
  const Design* design = nullptr;
  Family family;
  int response = 0;            ///< index into the frame; -1: none, for rows to be predicted
  std::vector<int> offsets{};  ///< variables whose sum is the offset of the first linear predictor
  int prior_weight = -1;       ///< index into the frame; -1: all ones
  /// Powers of two: one multiplies the response and its offsets, the other the prior weights, so that in the
  /// units of the fit neither is large or small.
  double response_factor = 1;
  double prior_factor = 1;
  /// The columns on devices, shared by passes over the same frame; null: each pass loads its own.
  std::shared_ptr<DeviceTable> on_devices{};
  /// Pairs of levels of the random effects of the design's part; null: fewer than two effects.
  std::shared_ptr<const LevelPairs> pairs{};
  /// Series of correlated rows: X'WX and X'Wr are then those of the transformed rows. CPU only.
  Series series{};
  std::vector<std::vector<int>> further_offsets{};  ///< of the second and later predictors; may be shorter
  /// With several linear predictors: the predictors of the null model, whose deviance `goodness` sums.
  std::vector<double> null_predictors{};
  int limit = -1;  ///< index into the frame of the responses' second numbers; -1: there are none
};

/// The response of a row, in the user's units.
[[nodiscard]] inline Response response_of(const Rows& rows, std::size_t row) {
  const auto number = [&](int variable) {
    return rows.frame->variables[static_cast<std::size_t>(variable)].numbers[row];
  };
  return rows.limit < 0 ? Response(number(rows.response))
                        : Response(number(rows.response), number(rows.limit));
}

/// The passes over the rows, each one `Job::reduce`: on the job's devices or its hosts, with the same
/// bits for any number of ranks, threads and devices of one kind.
///
/// On a device the columns are copied once, at the first pass, and stay there. All members are
/// *collective*. After a fallback (`job.last_verdict().ran`) sums are the CPU's.
class RowPass {
 public:
  RowPass(tessera::Job& job, tessera::Plan plan, Rows rows);
  ~RowPass();
  RowPass(const RowPass&) = delete;
  RowPass& operator=(const RowPass&) = delete;

  [[nodiscard]] RawMoments moments();
  /// The first step of a family other than gaussian, at the family's initial means: the residual is
  /// link(mean) - offset + step, as if the coefficients were zero.
  [[nodiscard]] RawSums start();
  /// A step at `raw_coef` = M beta.
  [[nodiscard]] RawSums step(std::span<const double> raw_coef);
  /// The deviance and residual sums at `raw_coef`, without gram and gradient.
  [[nodiscard]] RawDeviance deviance(std::span<const double> raw_coef);
  /// In place of `deviance` with several linear predictors. `null`: the predictors of the null model, which
  /// are constants; NaN stands for the model's own predictor.
  [[nodiscard]] RawGoodness goodness(std::span<const double> raw_coef, std::vector<double> null);

  /// The likelihood at `raw_coef` as a function of the family's parameters, of which there must be some.
  [[nodiscard]] RawLikelihood likelihood(std::span<const double> raw_coef);
  /// Sets the parameters of the family for all later passes. Compiles nothing. Not collective.
  void set_parameters(std::vector<double> parameters);

  /// Bytes of columns that a full pass reads, over all ranks; used by the run report.
  [[nodiscard]] std::int64_t bytes_per_pass() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace TESSERA_NAMESPACE::gam
