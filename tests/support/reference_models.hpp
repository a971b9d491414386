// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/dense_model.hpp"
#include "support/reference_case.hpp"

#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {

/// An intercept, and s(x, bs = "ps", k = k) of each variable.
[[nodiscard]] DenseModel smooths_of(const ReferenceCase& data, const std::vector<std::string>& variables,
                                    int k);

/// fac + x1 + s(x2, by = fac) + s(x0), as in c06_gs4_by_factor.
[[nodiscard]] DenseModel factor_by_model(const ReferenceCase& data);

}  // namespace TESSERA_NAMESPACE::gam::testing
