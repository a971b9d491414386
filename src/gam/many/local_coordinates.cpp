// SPDX-License-Identifier: Apache-2.0
#include "gam/many/local_coordinates.hpp"

#include "base/at.hpp"
#include "gam/linalg/linalg.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

using base::at;

namespace {

/// A row space in reduced echelon form.
class RowSpace {
 public:
  explicit RowSpace(int columns) : columns_(at(columns)) {}

  /// Returns false, and adds nothing, if the row is in the span.
  bool add(std::span<const double> row) {
    std::vector<double> rest(row.begin(), row.end());
    for (std::size_t i = 0; i < rows_.size(); ++i) add_multiple(rest, -rest[pivots_[i]], rows_[i]);
    constexpr double rounding = 1e-9;
    const double size = largest(rest);
    if (!(size > rounding * largest(row))) return false;
    const auto pivot = static_cast<std::size_t>(
        std::ranges::max_element(rest, {}, [](double value) { return std::abs(value); }) - rest.begin());
    const double at_pivot = rest[pivot];
    for (double& value : rest) value /= at_pivot;
    for (std::vector<double>& other : rows_) add_multiple(other, -other[pivot], rest);
    rows_.push_back(std::move(rest));
    pivots_.push_back(pivot);
    return true;
  }

  [[nodiscard]] const std::vector<std::vector<double>>& rows() const noexcept { return rows_; }

  [[nodiscard]] std::vector<std::vector<double>> null_space() const {
    std::vector<std::vector<double>> basis;
    for (std::size_t free = 0; free < columns_; ++free) {
      if (std::ranges::find(pivots_, free) != pivots_.end()) continue;
      std::vector<double> one(columns_);
      one[free] = 1;
      constexpr double rounding = 1e-12;
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (std::abs(rows_[i][free]) > rounding) one[pivots_[i]] = -rows_[i][free];
      }
      basis.push_back(std::move(one));
    }
    return basis;
  }

 private:
  std::size_t columns_;
  std::vector<std::vector<double>> rows_;
  std::vector<std::size_t> pivots_;
};

/// Whether X v is zero up to rounding in all rows outside of a group.
bool is_zero_outside(const Matrix& x, const std::vector<std::vector<int>>& rows_of_group, std::size_t group,
                     std::span<const double> v) {
  constexpr double rounding = 1e-13;
  const double most = rounding * largest(x.values()) * largest(v);
  for (std::size_t g = 0; g < rows_of_group.size(); ++g) {
    if (g == group) continue;
    for (const int row : rows_of_group[g]) {
      if (!(std::abs(dot(x.column(row), v)) <= most)) return false;
    }
  }
  return true;
}

}  // namespace

LocalCoordinates local_coordinates(const Matrix& x, const std::vector<std::vector<int>>& rows_of_group) {
  const int functions = x.rows();
  std::vector<RowSpace> spaces;
  for (const std::vector<int>& rows : rows_of_group) {
    RowSpace& space = spaces.emplace_back(functions);
    for (const int row : rows) space.add(x.column(row));
  }
  RowSpace chosen(functions);
  LocalCoordinates out;
  out.map = Matrix(functions, functions);
  const auto take = [&](std::span<const double> coordinate, int group) {
    if (!chosen.add(coordinate)) return;
    std::ranges::copy(coordinate, out.map.column(static_cast<int>(out.group.size())).begin());
    out.group.push_back(group);
  };
  for (std::size_t g = 0; g < spaces.size(); ++g) {
    RowSpace others(functions);
    for (std::size_t h = 0; h < spaces.size(); ++h) {
      for (const std::vector<double>& row : spaces[h].rows()) {
        if (h != g) others.add(row);
      }
    }
    for (const std::vector<double>& one : others.null_space()) {
      if (is_zero_outside(x, rows_of_group, g, one)) take(one, static_cast<int>(g));
    }
  }
  const Matrix columns = identity(functions);
  for (int j = 0; j < functions; ++j) take(columns.column(j), -1);
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam
