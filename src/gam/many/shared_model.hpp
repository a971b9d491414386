// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/shared_design.hpp"
#include "gam/model/model.hpp"

#include <tessera/gam/many.hpp>

namespace TESSERA_NAMESPACE::gam {

/// The model of every response without its numbers, which are zero: `read_response` adds those of one.
[[nodiscard]] FittedModel shared_model(const SharedDesign& design, const FormulaTerms& formula,
                                       const ManyOptions& options);

}  // namespace TESSERA_NAMESPACE::gam
