// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/model_rows.hpp"

#include <tessera/gam/check.hpp>
#include <tessera/job/job.hpp>

namespace TESSERA_NAMESPACE::gam {

/// Throws `Error(usage)` for options that are none.
void require_valid(const CheckOptions& options);

/// *Collective.* `check` of rows that were read, with the column of the series if there is one.
[[nodiscard]] Check check_rows(Job& job, const ModelRows& rows, const CheckOptions& options,
                               FitObserver& observer);

}  // namespace TESSERA_NAMESPACE::gam
