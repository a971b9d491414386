// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/report/text_table.hpp"

#include <tessera/gam/check.hpp>

#include <string>

/// Results of `check` as tables, for the HTML page and the text report.
namespace TESSERA_NAMESPACE::gam {

/// One row per smooth: k', edf, k-index and its p-value.
[[nodiscard]] TextTable basis_table(const Check& check);
/// The sample of the basis check in words, such as "all 400 rows, 400 permutations, seed 1".
[[nodiscard]] std::string basis_sample_text(const Check& check, const CheckOptions& options);
/// One row per term: concurvity (worst, observed, estimate) with all other terms.
[[nodiscard]] TextTable concurvity_table(const Concurvity& concurvity);
[[nodiscard]] double share_outside(const QuantileResiduals& own);

}  // namespace TESSERA_NAMESPACE::gam
