// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/model.hpp>
#include <tessera/gam/table.hpp>
#include <tessera/job/job.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A quantile, and the family that fits it.
struct QuantileFamily {
  double qu = 0;
  std::string text;  ///< argument of `family`, such as "elf(qu=0.1)"
};

/// Splits a family with a list of quantiles, `elf(qu = c(0.1, 0.5, 0.9))`, into one family for each quantile,
/// in increasing order. Each family is for a separate fit. If another argument is a list of the same length,
/// each family gets one of its numbers. Empty for a text with fewer than two quantiles.
[[nodiscard]] TESSERA_EXPORT std::vector<QuantileFamily> quantile_families(const std::string& text);

/// *Collective.* The number of rows of a table in which quantiles cross: the prediction of a model is below
/// that of an earlier model. `models` must be in increasing order of their quantiles. Throws like `predict`.
[[nodiscard]] TESSERA_EXPORT std::int64_t crossing_rows(Job& job, std::span<const Model> models,
                                                        const Table& table);

}  // namespace TESSERA_NAMESPACE::gam
