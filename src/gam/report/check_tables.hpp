// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/report/text_table.hpp"

#include <tessera/gam/check.hpp>

#include <string>

/// Tables of check results, for the HTML page and the text of a check.
namespace TESSERA_NAMESPACE::gam {

/// One row per smooth: k', edf, k-index and its p-value.
[[nodiscard]] TextTable basis_table(const Check& check);
/// "all 400 rows, 400 permutations, seed 1": the sample of the basis check.
[[nodiscard]] std::string basis_sample_text(const Check& check, const CheckOptions& options);
/// One row per term: concurvity (worst, observed, estimate) with all other terms.
[[nodiscard]] TextTable concurvity_table(const Concurvity& concurvity);
/// The proportion of quantile residuals outside their 95 % band.
[[nodiscard]] double share_outside(const QuantileResiduals& own);

}  // namespace TESSERA_NAMESPACE::gam
