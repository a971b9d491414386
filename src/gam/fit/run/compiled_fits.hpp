// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/formula/formula.hpp"

#include <tessera/gam/fit.hpp>
#include <tessera/job/job.hpp>

/// Marks of fits whose kernels are in the module cache. A fit chooses its hardware before the table is read,
/// but the source of its kernels is known only afterwards. A fit that has compiled kernels therefore leaves a
/// mark in the cache, keyed by formula and options. Kernels for another table may differ, e.g. by a factor's
/// number of levels.
namespace TESSERA_NAMESPACE::gam {

/// *Collective.* Whether there is a mark for the first device, in the cache of its rank. The job must have
/// devices.
[[nodiscard]] bool has_compiled(const Job& job, const FormulaTerms& formula, const FitOptions& options);

/// Leaves the mark after a fit on devices. If the cache cannot be written, later fits count the compilation
/// again.
void mark_as_compiled(const Job& job, const FormulaTerms& formula, const FitOptions& options);

}  // namespace TESSERA_NAMESPACE::gam
