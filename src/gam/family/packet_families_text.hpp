// SPDX-License-Identifier: Apache-2.0
// The functions of packet_families.hpp for packets of TESSERA_PACKET doubles.
#include "gam/family/location_scale.hpp"
#include "gam/family/packet_families.hpp"

#include <cstddef>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using Rows = base::Packet<TESSERA_PACKET>;

/// Loads min(count, width) numbers from `first`. Lanes from `count` repeat the first number.
Rows read(const double* first, int count) {
  if (count >= Rows::count) return Rows::at(first);
  double numbers[Rows::count];
  for (int i = 0; i < Rows::count; ++i) numbers[i] = first[i < count ? i : 0];
  return Rows::at(numbers);
}
void write(const Rows& rows, int count, double* first) {
  if (count >= Rows::count) return rows.store(first);
  double numbers[Rows::count];
  rows.store(numbers);
  for (int i = 0; i < count; ++i) first[i] = numbers[i];
}

/// Like `evaluate_rows`, in packets.
template <class Row>
void evaluate_packets(int predictors, const SeveralRows& rows, Rows* eta, Rows* scores, Rows* curvatures,
                      const Row& row) {
  const bool derivatives = rows.gradient != nullptr;
  for (int r = 0; r < rows.count; r += Rows::count) {
    const int count = rows.count - r;
    for (int p = 0; p < predictors; ++p) eta[p] = read(rows.eta + p * rows.stride + r, count);
    const Rows prior = read(rows.prior + r, count);
    const Rows value = row(read(rows.response + r, count), derivatives ? scores : nullptr,
                           derivatives ? curvatures : nullptr);
    write(prior * value, count, rows.log_likelihood + r);
    if (!derivatives) continue;
    for (int p = 0; p < predictors; ++p) write(prior * scores[p], count, rows.gradient + p * rows.stride + r);
    for (int k = 0; k < predictor_pairs(predictors); ++k)
      write(prior * curvatures[k], count, rows.weights + std::ptrdiff_t{k} * rows.stride + r);
  }
}

}  // namespace

template <int width, PacketFormula F>
void evaluate_of_width(const F& family, const SeveralRows& rows) {
  Rows eta[F::predictors];
  Rows scores[F::predictors];
  Rows curvatures[predictor_pairs(F::predictors)];
  evaluate_packets(F::predictors, rows, eta, scores, curvatures,
                   [&](const Rows& y, Rows* first, Rows* second) {
                     return row_log_likelihood(family, y, eta, first, second);
                   });
}

template <int width>
void evaluate_classes_of_width(int predictors, const SeveralRows& rows) {
  const auto count = static_cast<std::size_t>(predictors);
  std::vector<Rows> eta(count);
  std::vector<Rows> scores(count);
  std::vector<Rows> curvatures(static_cast<std::size_t>(predictor_pairs(predictors)));
  std::vector<Rows> shares(count + 1);
  evaluate_packets(predictors, rows, eta.data(), scores.data(), curvatures.data(),
                   [&](const Rows& y, Rows* first, Rows* second) {
                     return class_log_likelihood(predictors, y, eta.data(), shares.data(), first, second);
                   });
}

template void evaluate_of_width<TESSERA_PACKET>(const Gaulss&, const SeveralRows&);
template void evaluate_of_width<TESSERA_PACKET>(const Gammals&, const SeveralRows&);
template void evaluate_of_width<TESSERA_PACKET>(const Gumbls&, const SeveralRows&);
template void evaluate_of_width<TESSERA_PACKET>(const Gevlss&, const SeveralRows&);
template void evaluate_of_width<TESSERA_PACKET>(const Shash&, const SeveralRows&);
template void evaluate_of_width<TESSERA_PACKET>(const Twlss&, const SeveralRows&);
template void evaluate_of_width<TESSERA_PACKET>(const Ziplss&, const SeveralRows&);
template void evaluate_classes_of_width<TESSERA_PACKET>(int, const SeveralRows&);

}  // namespace TESSERA_NAMESPACE::gam
