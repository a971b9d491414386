// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/function.hpp>
#include <tessera/gam/model.hpp>
#include <tessera/gam/predict.hpp>
#include <tessera/gam/table.hpp>
#include <tessera/job/job.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// What a fitted model says beside predictions of a table. Every function takes a complete model, the same on
/// every rank, as `load_model` returns it, is *collective*, and computes on the hosts of the job; results do
/// not depend on ranks and threads.
namespace tessera::gam {

/// Values of a column at which predictions are wanted.
struct ChosenValues {
  std::string column;
  std::vector<std::string> values;  ///< numbers, or levels of a factor
};

struct DataSlice {
  Table table;
  std::string typical;  ///< the columns with typical values: "z = 0.31, g = 'a'"; empty: there is none
};

/// A table with every combination of the chosen values, the last column's changing fastest; other columns
/// that the formula reads have the observation nearest to the median, or the most frequent level. For
/// `predict`. Throws `Error(usage)` for a column that the formula does not read, or a text that is no number;
/// `Error(input)` if the model has no typical values of a column.
[[nodiscard]] DataSlice data_slice(const Job& job, const Model& model, std::span<const ChosenValues> chosen);

}  // namespace tessera::gam
