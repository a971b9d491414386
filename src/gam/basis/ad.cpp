// SPDX-License-Identifier: Apache-2.0
#include "gam/basis/ad.hpp"

#include "base/at.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// Maximum number of penalties, because `Basis::set_ranks` has an element for each of their subsets.
constexpr int most_adaptive = 10;

bool is_cyclic(const BasisOptions& options) {
  return options.curve == Cc::name || options.curve == Cp::name;
}

/// Calls `of_basis(type, options)` with the type of the underlying basis: `Ps`, `Cp`, `Cr` or `Cc`.
template <class Options, class OfBasis>
auto of_curve(Options options, const OfBasis& of_basis) {
  options.m = {2, 2};
  if (options.curve == Cr::name) return of_basis(Cr{}, options);
  if (options.curve == Cc::name) return of_basis(Cc{}, options);
  if (options.curve == Cp::name) return of_basis(Cp{}, options);
  return of_basis(Ps{}, options);
}

}  // namespace

Matrix adaptive_weights(int size, int count, bool cyclic) {
  Matrix weights(size - 2, count);
  const auto place = [&](int i) { return static_cast<double>(i + 1) / size; };
  if (count == 2) {
    for (int i = 0; i < weights.rows(); ++i) {
      weights(i, 0) = 1;
      weights(i, 1) = place(i);
    }
    return weights;
  }
  const double first = place(0);
  const double last = place(weights.rows() - 1);
  const int degree = count == 3 ? 2 : 3;
  const Basis splines = cyclic ? cp_basis(sequence(first, last, count + 1), degree - 1, true, degree)
                               : ps_basis(ps_knots(count, first, last, degree), degree - 1, true, degree);
  for (int i = 0; i < weights.rows(); ++i) {
    const LocalValues local = evaluate(splines.component.margin, place(i));
    for (int j = 0; j < count; ++j) {
      for (int a = 0; a < 4; ++a) weights(i, j) += local.values[at(a)] * splines.map(local.first + a, j);
    }
  }
  return weights;
}

Basis with_adaptive_penalties(Basis basis, const Matrix& weights) {
  constexpr double zero = 1e-14;
  const int size = basis.size();
  std::vector<std::size_t> used(at(weights.rows()));  // bit mask of penalties by difference
  for (int j = 0; j < weights.cols(); ++j) {
    MorePenalty penalty{Matrix(size, size), 0};
    const double largest = *std::ranges::max_element(weights.column(j));
    for (int i = 0; i < weights.rows(); ++i) {
      const double weight = weights(i, j);
      if (!(weight > zero * largest)) continue;
      ++penalty.rank;
      used[at(i)] |= std::size_t{1} << at(j);
      constexpr double difference[] = {1, -2, 1};
      for (int a = 0; a < 3; ++a) {
        for (int b = 0; b < 3; ++b) penalty.matrix(i + a, i + b) += weight * difference[a] * difference[b];
      }
    }
    if (j == 0) {
      basis.penalty = std::move(penalty.matrix);
      basis.rank = penalty.rank;
    } else {
      basis.more.push_back(std::move(penalty));
    }
  }
  // The differences are linearly independent, so the rank of a sum is the number of differences included.
  for (std::size_t set = 0; set < std::size_t{1} << at(weights.cols()); ++set)
    basis.set_ranks.push_back(
        static_cast<int>(std::ranges::count_if(used, [&](std::size_t own) { return (own & set) != 0; })));
  return basis;
}

std::optional<OptionFault> Ad::settle(BasisOptions& options) {
  constexpr int usual = 5;
  ignore_orders(options, 1, name);
  const double count = order_or(options, 0, usual);
  if (count != std::floor(count) || count < 1 || count > most_adaptive)
    return OptionFault{
        "m", fmt::format("m={}: give the number of penalties of bs=\"ad\", a whole number from 1 to {}",
                         count, most_adaptive)};
  options.m = {count};
  const int more = options.curve == Cc::name ? 4 : 3;  // there are fewer second differences than coefficients
  return set_default_k(options, 40, static_cast<int>(count) + more, name);
}

BasisSize Ad::size(const BasisOptions& options) {
  BasisSize size = of_curve(options, [](auto curve, const BasisOptions& own) { return curve.size(own); });
  size.free = 2;
  size.penalties = static_cast<int>(options.m[0]);
  return size;
}

Basis Ad::make(const MarginData& data) {
  Basis basis = of_curve(data, [](auto curve, const MarginData& own) { return curve.make(own); });
  const int count = static_cast<int>(data.m[0]);
  if (count == 1) return basis;
  const Matrix weights = adaptive_weights(basis.size(), count, is_cyclic(data));
  return with_adaptive_penalties(std::move(basis), weights);
}

}  // namespace TESSERA_NAMESPACE::gam
