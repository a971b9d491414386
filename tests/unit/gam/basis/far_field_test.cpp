// SPDX-License-Identifier: Apache-2.0
#include "gam/basis/far_field.hpp"

#include "gam/basis/isotropic.hpp"
#include "gam/terms/point_values.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <vector>

namespace {

using namespace tessera::gam;

using Place = std::array<double, 2>;

enum class Layout { even, crowded, line };

/// Places in units of 1,000 about (5,000, -300).
std::vector<Place> places_of(Layout layout, int count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> even(-0.5, 0.5);
  std::normal_distribution<double> normal;
  std::vector<Place> out;
  for (int i = 0; i < count; ++i) {
    Place place{even(random), even(random)};
    if (layout == Layout::crowded) {
      const int town = static_cast<int>(random() % 12);
      place = {0.4 * std::sin(7.0 * town) + 0.003 * normal(random),
               0.4 * std::cos(5.0 * town) + 0.003 * normal(random)};
    }
    if (layout == Layout::line) place[1] = 0.1 * place[0] + 1e-4 * normal(random);
    out.push_back({5000 + 1000 * place[0], -300 + 1000 * place[1]});
  }
  return out;
}

Component component_of(const std::vector<Place>& places, int size) {
  Matrix points(static_cast<int>(places.size()), 2);
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (int v = 0; v < 2; ++v) points(static_cast<int>(i), v) = places[i].at(static_cast<std::size_t>(v));
  }
  return isotropic_thin_plate(points, points, means_of(points), 2, size).component;
}

std::vector<double> by_field(const FarField& field, const Component& component, const Place& x) {
  std::vector<double> row(static_cast<std::size_t>(component.combinations.cols()));
  std::vector<double> scratch(field.scratch());
  const auto& shift = component.isotropic->shift;
  const Place u{x[0] - shift[0], x[1] - shift[1]};
  double* out = row.data();
  field.evaluate(field.leaf_of(u), 1, &u, scratch.data(), &out);
  return row;
}

/// Of places like the points, at the points, between two of them, and outside.
TEST(FarField, ColumnsAreThoseOfAllPoints) {
  for (const Layout layout : {Layout::even, Layout::crowded, Layout::line}) {
    const std::vector<Place> points = places_of(layout, 900, 1);
    const Component component = component_of(points, 60);
    ASSERT_TRUE(FarField::applies(*component.isotropic));
    const FarField field(*component.isotropic, component.combinations);
    EXPECT_GT(field.leaves(), 8);
    std::vector<Place> places = places_of(layout, 200, 2);
    places.insert(places.end(), points.begin(), points.begin() + 50);
    places.push_back({5000, -300});
    places.push_back({5600, -300});
    places.push_back({1e4, 1e4});
    std::vector<double> largest(60);
    std::vector<double> error(60);
    for (const Place& place : places) {
      std::vector<double> direct(60);
      evaluate_dense(component, place, direct);
      const std::vector<double> fast = by_field(field, component, place);
      const bool inside = std::abs(place[0] - 5000) < 700;
      for (std::size_t c = 0; c < direct.size(); ++c) {
        if (inside) largest[c] = std::max(largest[c], std::abs(direct[c]));
        error[c] = std::max(error[c], std::abs(fast[c] - direct[c]) / (inside ? 1 : std::abs(direct[c])));
      }
    }
    for (std::size_t c = 0; c < error.size(); ++c)
      EXPECT_LT(error[c], 2e-12 * largest[c]) << static_cast<int>(layout) << ' ' << c;
  }
}

TEST(FarField, WhatIsNoNumberHasNoNumbers) {
  const Component component = component_of(places_of(Layout::even, 300, 3), 20);
  const FarField field(*component.isotropic, component.combinations);
  EXPECT_TRUE(std::isnan(by_field(field, component, {std::numeric_limits<double>::quiet_NaN(), 0})[0]));
}

TEST(FarField, IsForManyPointsOfThinPlateSplines) {
  Component component = component_of(places_of(Layout::even, 150, 3), 20);
  EXPECT_FALSE(FarField::applies(*component.isotropic));
  component = component_of(places_of(Layout::even, 300, 3), 20);
  EXPECT_TRUE(FarField::applies(*component.isotropic));
  component.isotropic->function.power = 4;
  EXPECT_FALSE(FarField::applies(*component.isotropic));
}

/// Rows have the same bits alone, among others, and prepared.
TEST(FarField, ValuesDoNotDependOnTheOtherRows) {
  Component component = component_of(places_of(Layout::crowded, 400, 4), 30);
  component.isotropic->far_field =
      std::make_shared<const FarField>(*component.isotropic, component.combinations);
  component.variable = 0;
  component.others = {1};
  ComponentTables tables;
  tables.add(component);
  tables.finish();
  const std::vector<Place> places = places_of(Layout::crowded, 1000, 5);
  std::vector<double> x;
  std::vector<double> y;
  for (const Place& place : places) {
    x.push_back(place[0]);
    y.push_back(place[1]);
  }
  const std::array<const double*, 2> numbers{x.data(), y.data()};
  const auto columns = static_cast<std::size_t>(component.combinations.cols());
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < places.size(); row += row % 3 == 0 ? 2 : 1) rows.push_back(row);
  const auto evaluated = [&](bool prepared, int together) {
    PointEvaluator evaluator(tables, together);
    if (prepared) evaluator.prepare(numbers.data(), rows);
    std::vector<double> out(rows.size() * columns);
    for (std::size_t begin = 0; begin < rows.size(); begin += static_cast<std::size_t>(together)) {
      const int count = static_cast<int>(std::min(rows.size() - begin, static_cast<std::size_t>(together)));
      evaluator.evaluate(0, 1, {numbers.data(), nullptr, rows.data() + begin, count},
                         out.data() + begin * columns, [](int, const int*) {});
    }
    return out;
  };
  const std::vector<double> alone = evaluated(false, 1);
  EXPECT_EQ(evaluated(false, 64), alone);
  EXPECT_EQ(evaluated(true, 64), alone);
  EXPECT_EQ(evaluated(true, 1), alone);
}

}  // namespace
