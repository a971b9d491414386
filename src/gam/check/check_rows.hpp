// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/model_rows.hpp"

#include <tessera/gam/check.hpp>
#include <tessera/job/job.hpp>

namespace TESSERA_NAMESPACE::gam {

/// Throws `Error(usage)` for invalid options.
void require_valid(const CheckOptions& options);

/// *Collective.* `check` for rows in memory. If `CheckOptions::series` is set, the rows must have this
/// column.
[[nodiscard]] Check check_rows(Job& job, const ModelRows& rows, const CheckOptions& options,
                               FitObserver& observer);

}  // namespace TESSERA_NAMESPACE::gam
