// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/complete_row_index.hpp"
#include "gam/data/frame/frame.hpp"
#include "gam/data/frame/workers.hpp"
#include "gam/formula/formula.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

enum class SetupSample {
  as_bam,   ///< mgcv's bam: all complete rows up to 10,000, else a sample
  all_rows  ///< mgcv's gam
};

/// The rows from which mgcv's bam sets up its bases. These are all complete rows up to 10,000; otherwise a
/// sample of that size, or of more rows for more levels, with mgcv's seed, which includes the rows with each
/// column's extremes and one of every level (mgcv's `mini.mf`). Above 1e7 rows R draws differently, and the
/// sample differs from mgcv's.
class SetupRows {
 public:
  /// `prior_weight`: index of the weights in the frame; -1: none. The arguments must outlive this object.
  SetupRows(const Workers& workers, const Frame& frame, const FormulaTerms& formula, int prior_weight,
            SetupSample sample);

  /// *Collective.* The values of a variable in these rows (of a factor: the indices of its levels), the same
  /// on every rank and for any number of ranks. Cost: for more than 10,000 rows the first call scans each
  /// column of the model, and with factors allocates 4 bytes per row of the job on every rank.
  [[nodiscard]] std::vector<double> values(int variable);
  [[nodiscard]] std::size_t count() const noexcept { return rows_.size(); }
  /// Whether the sample differs from mgcv's.
  [[nodiscard]] bool is_own_sample() const noexcept { return is_own_sample_; }

 private:
  [[nodiscard]] std::vector<int> columns_of_model() const;
  void find();
  [[nodiscard]] std::vector<std::int64_t> draw(const CompleteRowIndex& complete, std::int64_t count);
  [[nodiscard]] std::vector<std::int64_t> rows_to_keep(const CompleteRowIndex& complete,
                                                       std::span<const std::int32_t> order) const;

  const Workers& workers_;
  const Frame& frame_;
  const FormulaTerms& formula_;
  int prior_weight_;
  SetupSample sample_;
  std::vector<int> columns_;  ///< columns of the model, if rows are sampled
  bool found_ = false;
  bool is_own_sample_ = false;
  std::vector<std::int64_t> rows_;  ///< indices among the complete rows of the job; empty: all of them
  std::vector<std::optional<std::size_t>> local_;  ///< each row's index on this rank; empty: on another rank
};

}  // namespace TESSERA_NAMESPACE::gam
