// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/row_pass.hpp"

#include <tessera/job/job.hpp>

#include <span>
#include <string>

namespace tessera::gam {

/// *Collective.* What is wrong in the first row whose step is not one: one line, the same on every rank, with
/// the row, and what the family gives there: a variance that is not above 0, a derivative of 0, a mean or a
/// deviance that is no number. Empty if there is no such row.
[[nodiscard]] std::string first_row_fault(const tessera::Job& job, const Rows& rows,
                                          std::span<const double> raw_coef);

}  // namespace tessera::gam
