// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/shared_design.hpp"
#include "gam/model/model.hpp"

#include <tessera/gam/many.hpp>

namespace TESSERA_NAMESPACE::gam {

/// The model shared by all responses, with zero results; `response_model` sets the results of one response.
[[nodiscard]] FittedModel shared_model(const SharedDesign& design, const FormulaTerms& formula,
                                       const ManyOptions& options);

}  // namespace TESSERA_NAMESPACE::gam
