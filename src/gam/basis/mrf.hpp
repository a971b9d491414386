// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/parts.hpp"

#include <optional>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* A coefficient for each district; or, for a smaller k, the k smoothest functions of the
/// districts: generalised eigenvectors of the penalty S, S v = lambda N v, where N is diagonal with each
/// district's number of rows (at least one). Source: Rue and Held, Gaussian Markov Random Fields (2005), sec.
/// 3; truncation: Wood (2017), sec. 5.8.1.
[[nodiscard]] Basis mrf_basis(const MarginData& data);

/// bs="mrf": a Markov random field over the districts that are the levels of a factor.
struct Mrf {
  static constexpr char name[] = "mrf";
  static constexpr bool random_effect = false;
  static constexpr bool several = false;
  static constexpr bool of_districts = true;
  static std::optional<OptionFault> settle(BasisOptions& options) {
    ignore_orders(options, 0, name);
    if (!options.districts_file.empty() || !options.districts.empty()) return std::nullopt;
    return OptionFault{"xt",
                       "bs=\"mrf\" needs neighbours: write xt=\"FILE\" for a file of neighbours, polygons or "
                       "a penalty, or write xt=list(nb=list(a=c(\"b\"), …))"};
  }
  /// Without k, `coefficients` is 0: the formula does not give the number of districts.
  static BasisSize size(const BasisOptions& options) { return {.coefficients = options.k, .free = 1}; }

  static Basis make(const MarginData& data) { return mrf_basis(data); }
};

}  // namespace TESSERA_NAMESPACE::gam
