// SPDX-License-Identifier: Apache-2.0
#include "gam/check/concurvity.hpp"

#include "base/at.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/linalg/submatrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

constexpr double no_concurvity = std::numeric_limits<double>::quiet_NaN();
constexpr Concurvity::Values no_values{no_concurvity, no_concurvity, no_concurvity};

/// Coefficients of one smooth, or of all parametric terms of a linear predictor.
struct ComponentColumns {
  std::string label;
  int predictor = 0;
  int begin = 0;
  int size = 0;
};

/// The components of each linear predictor: its parametric terms together, then each smooth.
std::vector<ComponentColumns> components_of(const Design& design) {
  std::vector<ComponentColumns> out;
  bool parametric = false;  // whether the last component is parametric
  for (const CoefBlock& block : design.blocks) {
    const int predictor = design.predictor_of(block);
    if (!block.is_smooth() && parametric && out.back().predictor == predictor) {
      out.back().size += block.coef_size;
      continue;
    }
    parametric = !block.is_smooth();
    out.push_back({block.is_smooth() ? block.label
                   : predictor == 0  ? "para"
                                     : fmt::format("para.{}", predictor),
                   predictor, block.coef_begin, block.coef_size});
  }
  return out;
}

double square_sum(std::span<const double> values) {
  return dot(values, values);
}

/// A maximal linearly independent subset of `columns`, by pivoted QR. Columns can be dependent: for example,
/// an intercept and the levels of a random effect.
std::vector<int> independent(const Matrix& triangle, const std::vector<int>& rows, std::vector<int> columns) {
  constexpr double least = 1e-12;
  Matrix scaled = submatrix(triangle, rows, columns);
  for (int j = 0; j < scaled.cols(); ++j) {
    const double norm = std::sqrt(square_sum(scaled.column(j)));
    for (double& value : scaled.column(j)) value /= norm > 0 ? norm : 1;
  }
  const PivotedQr qr = pivoted_qr(scaled);
  std::vector<int> kept;
  for (int k = 0; k < qr.r.rows() && std::abs(qr.r(k, k)) > least; ++k)
    kept.push_back(columns[at(qr.pivots[at(k)])]);
  std::ranges::sort(kept);
  return kept;
}

/// The concurvity of the columns `of` with the columns `others`.
Concurvity::Values explained(const Matrix& triangle, const std::vector<int>& others,
                             const ComponentColumns& of, std::span<const double> coef) {
  if (others.empty()) return no_values;
  std::vector<int> rows(at(triangle.rows()));
  std::iota(rows.begin(), rows.end(), 0);
  const std::vector<int> by = independent(triangle, rows, others);
  std::vector<int> columns = by;
  for (int j = 0; j < of.size; ++j) columns.push_back(of.begin + j);
  const Matrix both = triangle_of(submatrix(triangle, rows, columns));
  const int first = static_cast<int>(by.size());
  // The columns `of` in an orthonormal basis, whose first vectors span the other columns: `top` is the
  // projection on them.
  const Matrix all = submatrix(both, 0, both.rows(), first, of.size);
  const Matrix top = submatrix(all, 0, std::min(first, all.rows()), 0, of.size);
  const auto beta = coef.subspan(at(of.begin), at(of.size));
  Concurvity::Values out{no_concurvity, square_sum(multiply(top, beta)) / square_sum(multiply(all, beta)),
                         square_sum(top.values()) / square_sum(all.values())};
  // The square of the largest canonical correlation, from independent columns only: a by level may have fewer
  // rows than columns.
  std::vector<int> own_columns(at(of.size));
  std::iota(own_columns.begin(), own_columns.end(), of.begin);
  std::vector<int> spanning = independent(triangle, rows, std::move(own_columns));
  if (spanning.empty()) return out;
  for (int& column : spanning) column -= of.begin;
  const auto spanning_of = [&](const Matrix& a) {
    std::vector<int> all_rows(at(a.rows()));
    std::iota(all_rows.begin(), all_rows.end(), 0);
    return submatrix(a, all_rows, spanning);
  };
  const Matrix own = triangle_of(spanning_of(all));
  const Matrix ratio = triangular_solve(transpose(own), transpose(spanning_of(top)), false);
  if (!std::ranges::all_of(ratio.values(), [](double one) { return std::isfinite(one); })) return out;
  const double largest = singular_values(ratio).front();
  out.worst = largest * largest;
  return out;
}

}  // namespace

Concurvity concurvity_of(const Design& design, std::span<const double> coef, const Matrix& triangle) {
  const std::vector<ComponentColumns> components = components_of(design);
  Concurvity out;
  for (const ComponentColumns& of : components) {
    out.labels.push_back(of.label);
    std::vector<int> others;
    for (const ComponentColumns& other : components) {
      for (int j = 0; j < other.size && other.predictor == of.predictor && &other != &of; ++j)
        others.push_back(other.begin + j);
    }
    out.whole.push_back(explained(triangle, others, of, coef));
  }
  for (const ComponentColumns& by : components) {
    std::vector<int> columns(at(by.size));
    std::iota(columns.begin(), columns.end(), by.begin);
    for (const ComponentColumns& of : components) {
      if (by.predictor != of.predictor)
        out.pairwise.push_back(no_values);
      else
        out.pairwise.push_back(&by == &of ? Concurvity::Values{1, 1, 1}
                                          : explained(triangle, columns, of, coef));
    }
  }
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam
