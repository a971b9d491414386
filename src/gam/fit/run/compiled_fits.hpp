// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/formula/formula.hpp"

#include <tessera/gam/fit.hpp>
#include <tessera/job/job.hpp>

/// Which fits the cache of modules has the kernels of. A fit chooses its hardware before the table is read,
/// by which alone the text of its kernels is known: so one that has compiled them leaves a mark in the cache,
/// by what is known before. Of another table the kernels may be others, of more levels of a factor say.
namespace TESSERA_NAMESPACE::gam {

/// *Collective.* Whether there is a mark, for the first device and where its rank looks for modules. The job
/// has devices.
[[nodiscard]] bool has_compiled(const Job& job, const FormulaTerms& formula, const FitOptions& options);

/// After a fit on devices: leaves the mark. If the cache cannot be written, later fits count the
/// compilation again.
void mark_as_compiled(const Job& job, const FormulaTerms& formula, const FitOptions& options);

}  // namespace TESSERA_NAMESPACE::gam
