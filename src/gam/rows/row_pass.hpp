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

/// This rank's rows, and the roles of their columns. Several predictors require a `SeveralFamily`.
struct Rows {
  const Frame* frame = nullptr;
  const Design* design = nullptr;
  Family family;
  int response = 0;            ///< index into the frame; -1: none (predictions)
  std::vector<int> offsets{};  ///< variables; their sum is the first predictor's offset
  int prior_weight = -1;       ///< index into the frame; -1: all ones
  /// Powers of two that scale the response with its offsets, and the prior weights, to moderate magnitudes.
  double response_factor = 1;
  double prior_factor = 1;
  /// Columns on devices, shared by passes over the same frame; null: each `RowPass` creates its own.
  std::shared_ptr<DeviceTable> on_devices{};
  /// Pairs of levels of the part's random effects; null if the part has fewer than two effects.
  std::shared_ptr<const LevelPairs> pairs{};
  /// Series of correlated rows: X'WX and X'Wr are those of the whitened rows. CPU only.
  Series series{};
  std::vector<std::vector<int>> further_offsets{};  ///< of later predictors; may have fewer entries
  /// Linear predictors of the null model, for `goodness`.
  std::vector<double> null_predictors{};
  int limit = -1;  ///< index into the frame of the responses' second numbers; -1: none
};

/// Unscaled response of a row.
[[nodiscard]] inline Response response_of(const Rows& rows, std::size_t row) {
  const auto number = [&](int variable) {
    return rows.frame->variables[static_cast<std::size_t>(variable)].numbers[row];
  };
  return rows.limit < 0 ? Response(number(rows.response))
                        : Response(number(rows.response), number(rows.limit));
}

/// Passes over the rows, each one `Job::reduce` on devices or CPUs. Results are bitwise equal for any number
/// of ranks, threads and devices of one model; after a fallback (`last_verdict().ran`), as on CPUs.
///
/// The first pass on a device copies the columns, which stay. Members are *collective*, unless noted.
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
  /// A PIRLS step at `raw_coef` = M beta.
  [[nodiscard]] RawSums step(std::span<const double> raw_coef);
  /// Deviance and residual sums, without X'WX and gradient.
  [[nodiscard]] RawDeviance deviance(std::span<const double> raw_coef);
  /// `deviance` for several linear predictors. `null`: predictors of the null model; NaN: the model's own.
  [[nodiscard]] RawGoodness goodness(std::span<const double> raw_coef, std::vector<double> null);

  /// The likelihood as a function of the family's parameters. Requires a family with parameters.
  [[nodiscard]] RawLikelihood likelihood(std::span<const double> raw_coef);
  /// Sets the family's parameters for later passes. Not collective.
  void set_parameters(std::vector<double> parameters);

  /// Later passes on CPUs read only a sample of the rows: every `stride`-th run of 256. Not collective.
  void read_every(int stride);

  /// Bytes of columns that a full pass reads, over all ranks. Not collective.
  [[nodiscard]] std::int64_t bytes_per_pass() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace TESSERA_NAMESPACE::gam
