// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/parts.hpp"
#include "gam/basis/shrinkage.hpp"
#include "gam/basis/tp.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <optional>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// bs="ts": a thin plate regression spline with shrinkage. The last columns span the null space.
struct Ts : Tp {
  static constexpr char name[] = "ts";

  static std::optional<OptionFault> settle(BasisOptions& options) { return settle_as(options, name); }
  static BasisSize size(const BasisOptions& options) {
    BasisSize size = Tp::size(options);
    size.free = 0;
    return size;
  }
  static Basis make(const MarginData& data) {
    Basis basis = Tp::make(data);
    const int free = basis.size() - basis.rank;
    shrink(basis, submatrix(identity(basis.size()), 0, basis.size(), basis.rank, free),
           std::vector<double>(static_cast<std::size_t>(free), shrinkage));
    return basis;
  }
};

}  // namespace TESSERA_NAMESPACE::gam
