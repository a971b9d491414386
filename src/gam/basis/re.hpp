// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/parts.hpp"

#include <optional>

namespace TESSERA_NAMESPACE::gam {

/// A random effect (bs="re"): one coefficient per level (random intercepts), or one for a number (a slope),
/// all with the same penalty. Map and penalty are identities; they are not stored, because there may be many
/// levels.
[[nodiscard]] inline Basis re_basis(bool factor, int levels) {
  Basis basis;
  basis.component.kind = factor ? Component::Kind::factor : Component::Kind::numeric;
  basis.component.levels = factor ? levels : 0;
  basis.rank = basis.component.raw_size();
  basis.unit_rows = factor;
  basis.nodal = true;
  return basis;
}

struct Re {
  static constexpr char name[] = "re";
  static constexpr bool random_effect = true;
  static constexpr bool several = false;
  static std::optional<OptionFault> settle(BasisOptions& options) {
    ignore_orders(options, 0, name);
    return set_default_k(options, 10, 1, name);
  }
  static BasisSize size(const BasisOptions& /*options*/) { return {}; }

  static Basis make(const MarginData& data) { return re_basis(data.factor, data.levels); }
};

}  // namespace TESSERA_NAMESPACE::gam
