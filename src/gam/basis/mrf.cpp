// SPDX-License-Identifier: Apache-2.0
#include "gam/basis/mrf.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "base/math/elementary.hpp"
#include "gam/linalg/linalg.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

/// The penalty of the districts in the order of the factor's levels.
Matrix penalty_of_levels(const MarginData& data) {
  std::unordered_map<std::string, int> places;
  for (const std::string& level : data.level_names) places.emplace(level, static_cast<int>(places.size()));
  std::vector<int> place;
  for (const std::string& name : data.districts.names) place.push_back(places.at(name));
  Matrix penalty(data.levels, data.levels);
  for (const Districts::Element& one : data.districts.penalty)
    penalty(place[at(one.row)], place[at(one.column)]) = one.value;
  return penalty;
}

/// Dimension of the null space of the penalty. Throws if the penalty is zero, or has a negative eigenvalue.
int null_dimension_of(const Matrix& penalty, const std::string& label) {
  const double zero = base::pow(std::numeric_limits<double>::epsilon(), 0.8);
  const std::vector<double> values = symmetric_eigen(penalty).values;
  if (!(values.back() > 0))
    throw base::input_error("{}: no two districts are neighbours: write bs=\"re\" for districts without them",
                            label);
  if (values.front() < -zero * values.back())
    throw base::input_error(
        "{}: the penalty has the negative eigenvalue {:.3g}: give a positive semidefinite penalty", label,
        values.front());
  return static_cast<int>(
      std::ranges::count_if(values, [&](double value) { return value <= zero * values.back(); }));
}

}  // namespace

Basis mrf_basis(const MarginData& data) {
  Basis basis;
  basis.component.kind = Component::Kind::factor;
  basis.component.levels = data.levels;
  basis.component.districts = true;
  basis.nodal = true;
  basis.dense_levels = true;
  basis.penalty = penalty_of_levels(data);
  const int free = null_dimension_of(basis.penalty, data.label);
  const int size = data.k == 0 ? data.levels : data.k;
  if (size > data.levels)
    throw base::input_error("{}: k = {} is too large: give at most the number of districts, {}", data.label,
                            size, data.levels);
  if (size <= free)
    throw base::input_error(
        "{}: k = {} is too small: give at least {}, because {} function{} of the districts {} no penalty",
        data.label, size, free + 1, free, free == 1 ? "" : "s", free == 1 ? "has" : "have");
  basis.rank = size - free;
  if (size == data.levels) {
    basis.map = identity(size);
    basis.unit_rows = true;
    return basis;
  }
  const std::vector<std::int64_t> counts = data.level_counts();
  std::vector<double> roots;
  for (const std::int64_t count : counts)
    roots.push_back(std::sqrt(std::max<double>(1, static_cast<double>(count))));
  for (int j = 0; j < data.levels; ++j) {
    for (int i = 0; i < data.levels; ++i) basis.penalty(i, j) /= roots[at(i)] * roots[at(j)];
  }
  const SymmetricEigen eigen = symmetric_eigen(basis.penalty);
  basis.map = Matrix(data.levels, size);
  basis.penalty = Matrix(size, size);
  basis.constant.assign(at(size), 0);
  for (int j = 0; j < size; ++j) {
    const int from = size - 1 - j;
    if (from >= free) basis.penalty(j, j) = eigen.values[at(from)];
    for (int i = 0; i < data.levels; ++i) {
      basis.map(i, j) = eigen.vectors(i, from) / roots[at(i)];
      basis.constant[at(j)] += eigen.vectors(i, from) * roots[at(i)];
    }
  }
  basis.row_sum = 0;
  for (int i = 0; i < data.levels; ++i) {
    double sum = 0;
    for (int j = 0; j < size; ++j) sum += std::abs(basis.map(i, j));
    if (counts[at(i)] > 0) basis.row_sum = std::max(*basis.row_sum, sum);
  }
  return basis;
}

}  // namespace TESSERA_NAMESPACE::gam
