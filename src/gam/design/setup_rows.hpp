// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/formula/formula.hpp"
#include "gam/table/frame/frame.hpp"
#include "gam/table/frame/workers.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tessera::gam {

/// The rows from which mgcv's bam makes its bases: all complete ones up to 10,000, and of more that many,
/// drawn with its seed, among them those with each column's extremes and one of every level (its `mini.mf`).
/// Of more than 1e7 rows R draws otherwise, and these are a sample of our own.
class SetupRows {
 public:
  /// `prior_weight`: its place in the frame; -1: there is none. What this was made from outlives it.
  SetupRows(const Workers& workers, const Frame& frame, const FormulaTerms& formula, int prior_weight);

  /// *Collective.* The values of a number in these rows, the same on every rank and for any number of ranks.
  /// Cost: of the first call on more than 10,000 rows a look at each column of the model, and of 4 bytes a
  /// row of the job on every rank where there are factors.
  [[nodiscard]] std::vector<double> values(int variable);
  [[nodiscard]] std::size_t count() const noexcept { return rows_.size(); }
  /// Whether values have been asked for, and are a sample of our own.
  [[nodiscard]] bool is_own_sample() const noexcept { return is_own_sample_; }

 private:
  [[nodiscard]] std::vector<int> columns_of_model() const;
  void find();
  [[nodiscard]] std::vector<std::int64_t> draw(std::int64_t count);
  [[nodiscard]] std::vector<std::int64_t> rows_to_keep(std::vector<std::int32_t> order) const;

  const Workers& workers_;
  const Frame& frame_;
  const FormulaTerms& formula_;
  int prior_weight_;
  std::vector<int> columns_;  ///< of the model, where rows are drawn
  std::int64_t first_ = 0;    ///< complete rows of the ranks before
  bool found_ = false;
  bool is_own_sample_ = false;
  std::vector<std::int64_t> rows_;   ///< by the complete rows of the job; empty: all of them
  std::vector<std::int64_t> local_;  ///< of each of these the local row; -1: it is another rank's
};

}  // namespace tessera::gam
