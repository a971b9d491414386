// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/shared_design.hpp"
#include "gam/model/model.hpp"

#include <tessera/gam/many.hpp>

namespace TESSERA_NAMESPACE::gam {

/// The model of any response, with zeros for its results; `read_response` sets the results of one.
[[nodiscard]] FittedModel shared_model(const SharedDesign& design, const FormulaTerms& formula,
                                       const ManyOptions& options);

}  // namespace TESSERA_NAMESPACE::gam
