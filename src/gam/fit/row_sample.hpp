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

/// What a report draws of single rows: a sample of those of the fit.
struct RowSample {
  /// One value a sampled row; of a factor the place of its level.
  struct Column {
    std::string name;
    std::vector<double> values;
    std::vector<std::string> levels{};  ///< of a factor; else empty
  };

  std::int64_t rows = 0;                 ///< complete rows, of which the sample is all or some
  std::vector<double> linear_predictor;  ///< with all offsets
  std::vector<double> response;          ///< as numbers, a success being 1
  std::vector<double> weight;            ///< prior ones
  std::vector<Column> variables;
  std::vector<std::string> covariates;  ///< the names of those that terms are of: numbers, then factors
  std::vector<Column> terms;            ///< what each smooth adds to the linear predictor, by its label

  [[nodiscard]] std::size_t size() const { return response.size(); }
  [[nodiscard]] bool is_whole() const { return static_cast<std::int64_t>(size()) == rows; }
};

/// The column of a name; null if there is none.
[[nodiscard]] const RowSample::Column* column_of(const std::vector<RowSample::Column>& columns,
                                                 std::string_view name);

/// Smooths of which a sample has the terms.
inline constexpr std::size_t most_sampled_terms = 200;

/// *Collective.* The rows in `local_sample`, in the order of the table, with the first `most_sampled_terms`
/// smooths: complete on rank 0; other ranks get an empty sample. The same for any number of ranks and
/// threads. Cost: one pass over the rows on the hosts.
[[nodiscard]] RowSample sample_rows(Job& job, const ModelRows& rows, FitObserver& observer);

}  // namespace TESSERA_NAMESPACE::gam
