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

/// The family of one of several quantiles.
struct QuantileFamily {
  double qu = 0;
  std::string text;  ///< for `family`
};

/// One family for each of a list of quantiles, `elf(qu = c(0.1, 0.5, 0.9))`, in increasing order of the
/// quantiles; each is fitted by itself. If another argument has as many numbers, each family gets its own of
/// them. Empty for a text without such a list.
[[nodiscard]] TESSERA_EXPORT std::vector<QuantileFamily> quantile_families(const std::string& text);

/// *Collective.* The number of rows of a table in which quantiles cross: of models in increasing order of
/// their quantiles, a prediction is below that of an earlier one. Throws the errors of `predict`.
[[nodiscard]] TESSERA_EXPORT std::int64_t crossing_rows(Job& job, std::span<const Model> models,
                                                        const Table& table);

}  // namespace TESSERA_NAMESPACE::gam
