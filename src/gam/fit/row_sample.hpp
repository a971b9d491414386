// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/model_rows.hpp"

#include <tessera/gam/fit.hpp>
#include <tessera/job/job.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

struct RowSample {
  /// One value for each sampled row; for a factor the index of its level.
  struct Column {
    std::string name;
    std::vector<double> values;
    std::vector<std::string> levels{};  ///< levels of a factor; else empty
  };

  std::int64_t rows = 0;                               ///< number of complete rows; the sample may have fewer
  std::vector<std::vector<double>> linear_predictors;  ///< each linear predictor, with all offsets
  std::vector<double> response;                        ///< response as numbers; success is 1
  std::vector<double> limit;   ///< second number of each response; equal to `response` without one
  std::vector<double> weight;  ///< prior weights
  std::vector<Column> variables;
  std::vector<std::string> covariates;  ///< names of the terms' variables: numbers, then factors
  std::vector<Column> terms;            ///< contributions of smooths to the linear predictor, by label

  /// The first or only linear predictor.
  [[nodiscard]] const std::vector<double>& linear_predictor() const { return linear_predictors.front(); }
  [[nodiscard]] Response response_of(std::size_t row) const { return {response[row], limit[row]}; }
  [[nodiscard]] std::size_t size() const { return response.size(); }
  [[nodiscard]] bool is_whole() const { return static_cast<std::int64_t>(size()) == rows; }
};

/// Null if no column has this name.
[[nodiscard]] const RowSample::Column* column_of(const std::vector<RowSample::Column>& columns,
                                                 std::string_view name);

inline constexpr std::size_t most_sampled_terms = 200;

/// *Collective.* The rows in `local_sample`, in the order of the table, and the first `most_sampled_terms`
/// smooths. Complete on rank 0, else empty; the same for any number of ranks and threads. Cost: one pass.
[[nodiscard]] RowSample sample_rows(Job& job, const ModelRows& rows, FitObserver& observer);

}  // namespace TESSERA_NAMESPACE::gam
