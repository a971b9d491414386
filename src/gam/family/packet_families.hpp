// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/math/packet.hpp"
#include "gam/family/several_family.hpp"

/// SIMD evaluation of families with several linear predictors.
namespace TESSERA_NAMESPACE::gam {

template <class F>
concept PacketFormula = requires {
  requires F::in_packets;
};

/// `SeveralFamily::evaluate` in packets of `width` doubles (packet_families_text.hpp).
template <int width, PacketFormula F>
void evaluate_of_width(const F& family, const SeveralRows& rows);
template <PacketFormula F>
void evaluate_in_packets(const F& family, const SeveralRows& rows) {
  base::at_register_width([&](auto width) { evaluate_of_width<width.value>(family, rows); });
}
/// `evaluate` for the classes 0 to `predictors` of multinom.
template <int width>
void evaluate_classes_of_width(int predictors, const SeveralRows& rows);
inline void evaluate_classes(int predictors, const SeveralRows& rows) {
  base::at_register_width([&](auto width) { evaluate_classes_of_width<width.value>(predictors, rows); });
}

}  // namespace TESSERA_NAMESPACE::gam
