// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/basis.hpp"
#include "gam/data/frame/frame.hpp"
#include "gam/data/frame/workers.hpp"
#include "gam/formula/formula.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The user's knots by variable: two limits, or all knots.
using SuppliedKnots = std::map<std::string, std::vector<double>>;

/// Parses "month=0.5,12.5". Throws `Error(usage)`.
[[nodiscard]] std::pair<std::string, std::vector<double>> parse_knots(std::string_view text);

/// *Collective.* The basis of one margin over the complete rows of the job: computes the range and the
/// quantiles for its knots, or takes the supplied knots. `spec` must be from `parse_terms`, which checks k
/// and order. Sets `component.variable` and `component.extent`.
///
/// Throws the same error on every rank: `Error(usage)` for a wrong number of knots, or equal knots;
/// `Error(input)` for a factor where numbers are needed, a constant covariate, k above what the distinct
/// values support, or data outside the knots. `label`: the smooth's label. `setup_values` returns a
/// variable's values in the rows of mgcv's setup sample.
[[nodiscard]] Basis make_basis(const Workers& workers, const Frame& frame, const MarginSpec& spec,
                               const SuppliedKnots& supplied,
                               const std::function<std::vector<double>(int variable)>& setup_values,
                               const std::string& label);

}  // namespace TESSERA_NAMESPACE::gam
