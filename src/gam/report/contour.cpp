// SPDX-License-Identifier: Apache-2.0
#include "gam/report/contour.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace TESSERA_NAMESPACE::gam {
namespace {

struct Point {
  double x, y, z;
};

Point crossing(const Point& a, const Point& b, double level) {
  const double t = (level - a.z) / (b.z - a.z);
  return {a.x + t * (b.x - a.x), a.y + t * (b.y - a.y), level};
}

/// Adds the segments of one cell. Corners are in cyclic order.
void add_cell(const std::array<Point, 4>& corners, double level, Segments& out) {
  std::array<Point, 4> found{};
  std::size_t count = 0;
  for (std::size_t side = 0; side < 4; ++side) {
    const Point& a = corners[side];
    const Point& b = corners[(side + 1) % 4];
    if ((a.z > level) != (b.z > level)) found[count++] = crossing(a, b, level);
  }
  const auto join = [&](std::size_t i, std::size_t j) {
    out.x.insert(out.x.end(), {found[i].x, found[j].x});
    out.y.insert(out.y.end(), {found[i].y, found[j].y});
  };
  if (count == 2) join(0, 1);
  if (count == 4) {
    // A saddle: corners 0 and 2 are on one side of the level, 1 and 3 on the other. The mean of the corners
    // is the value at the centre.
    const double middle = (corners[0].z + corners[1].z + corners[2].z + corners[3].z) / 4;
    const bool with_first = (middle > level) == (corners[0].z > level);
    join(0, with_first ? 1 : 3);
    join(2, with_first ? 3 : 1);
  }
}

}  // namespace

Segments contour(std::span<const double> x, std::span<const double> y, const Matrix& z, double level) {
  Segments out;
  const auto corner = [&](int i, int j) {
    return Point{x[static_cast<std::size_t>(i)], y[static_cast<std::size_t>(j)], z(i, j)};
  };
  for (int j = 0; j + 1 < z.cols(); ++j) {
    for (int i = 0; i + 1 < z.rows(); ++i) {
      const std::array corners{corner(i, j), corner(i + 1, j), corner(i + 1, j + 1), corner(i, j + 1)};
      if (std::ranges::none_of(corners, [](const Point& one) { return std::isnan(one.z); }))
        add_cell(corners, level, out);
    }
  }
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam
