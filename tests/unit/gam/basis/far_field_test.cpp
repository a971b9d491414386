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

tessera::HostTeam& team() {
  static tessera::HostTeam threads(2);
  return threads;
}

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
  return isotropic_thin_plate(team(), points, points, means_of(points), 2, size).component;
}

std::vector<double> by_field(const FarField& field, const Component& component, const Place& x) {
  std::vector<double> row(static_cast<std::size_t>(component.combinations.cols()));
  std::vector<double> scratch(field.scratch());
  const auto& shift = component.isotropic->shift;
  const Place u{x[0] - shift[0], x[1] - shift[1]};
  double* out = row.data();
  field.evaluate(field.leaf_of(u), 1, &u, scratch.data(), {.columns = &out});
  return row;
}

/// The sum of the absolute values of the columns' terms: rounding errors are relative to it.
std::vector<double> sizes_of(const Component& component, const Place& x) {
  const IsotropicColumns& columns = *component.isotropic;
  std::vector<double> sizes(static_cast<std::size_t>(component.combinations.cols()));
  for (int j = 0; j < columns.points.rows(); ++j) {
    const double dx = x[0] - columns.shift[0] - columns.points(j, 0);
    const double dy = x[1] - columns.shift[1] - columns.points(j, 1);
    const double value = std::abs(radial_value(columns.function, dx * dx + dy * dy));
    for (std::size_t c = 0; c < sizes.size(); ++c)
      sizes[c] += value * std::abs(component.combinations(j, static_cast<int>(c)));
  }
  return sizes;
}

/// At places distributed like the points, at the points, between them, and outside.
TEST(FarField, ColumnsAreThoseOfAllPoints) {
  constexpr double rounding = 1.5e-15;
  for (const Layout layout : {Layout::even, Layout::crowded, Layout::line}) {
    const std::vector<Place> points = places_of(layout, 900, 1);
    const Component component = component_of(points, 60);
    ASSERT_TRUE(FarField::applies(*component.isotropic));
    const FarField field(team(), *component.isotropic, component.combinations);
    EXPECT_GT(field.leaves(), 8);
    const auto of_leaf =
        std::int64_t{8} * static_cast<int>(field.none().expanded.size()) / field.leaves() * 60;
    EXPECT_EQ(FarField::bytes(*component.isotropic, component.combinations), field.leaves() * of_leaf);
    std::vector<double> ranges(60);
    for (const Place& point : points) {
      std::vector<double> row(60);
      evaluate_dense(component, point, row);
      for (std::size_t c = 0; c < row.size(); ++c) ranges[c] = std::max(ranges[c], std::abs(row[c]));
    }
    std::vector<Place> places = places_of(layout, 200, 2);
    places.insert(places.end(), points.begin(), points.begin() + 50);
    places.insert(places.end(), {{5000, -300}, {5600, -300}, {1e4, 1e4}});
    for (const Place& place : places) {
      std::vector<double> direct(60);
      evaluate_dense(component, place, direct);
      const std::vector<double> fast = by_field(field, component, place);
      const std::vector<double> sizes = sizes_of(component, place);
      for (std::size_t c = 0; c < direct.size(); ++c)
        EXPECT_NEAR(fast[c], direct[c], 1e-12 * ranges[c] + rounding * sizes[c])
            << static_cast<int>(layout) << ' ' << c << ' ' << place[0] << ' ' << place[1];
    }
  }
}

/// A combination of the columns, and their sums over places, from the functions of the expansion.
TEST(FarField, CombinationsAndSumsAreThoseOfTheColumns) {
  const Component component = component_of(places_of(Layout::crowded, 500, 6), 30);
  const FarField field(team(), *component.isotropic, component.combinations);
  std::vector<double> coef(static_cast<std::size_t>(component.combinations.cols()));
  for (std::size_t c = 0; c < coef.size(); ++c) coef[c] = std::sin(static_cast<double>(c));
  const FarField::Functions combined = field.combined(coef.data());
  FarField::Functions sums = field.none();
  std::vector<double> expected_sums(coef.size());
  std::vector<double> scratch(field.scratch());
  for (const Place& place : places_of(Layout::crowded, 100, 7)) {
    const std::vector<double> row = by_field(field, component, place);
    double expected = 0;
    for (std::size_t c = 0; c < row.size(); ++c) {
      expected += row[c] * coef[c];
      expected_sums[c] += row[c];
    }
    const auto& shift = component.isotropic->shift;
    const Place u{place[0] - shift[0], place[1] - shift[1]};
    double combination = 0;
    field.evaluate(field.leaf_of(u), 1, &u, scratch.data(),
                   {.combined = &combined, .combination = &combination, .sums = &sums});
    EXPECT_NEAR(combination, expected, 1e-11);
  }
  std::vector<double> found(coef.size());
  field.add_columns(sums, found.data());
  for (std::size_t c = 0; c < found.size(); ++c) EXPECT_NEAR(found[c], expected_sums[c], 1e-10) << c;
}

TEST(FarField, BitsDoNotDependOnTheNumberOfThreads) {
  const std::vector<Place> points = places_of(Layout::crowded, 900, 8);
  const Component component = component_of(points, 40);
  tessera::HostTeam one(1);
  const FarField expected(one, *component.isotropic, component.combinations);
  tessera::HostTeam three(3);
  const FarField field(three, *component.isotropic, component.combinations);
  for (const Place& place : places_of(Layout::crowded, 300, 9))
    EXPECT_EQ(by_field(field, component, place), by_field(expected, component, place));
}

TEST(FarField, WhatIsNoNumberHasNoNumbers) {
  const Component component = component_of(places_of(Layout::even, 300, 3), 20);
  const FarField field(team(), *component.isotropic, component.combinations);
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

/// Rows have the same bits by themselves, among others, and prepared.
TEST(FarField, ValuesDoNotDependOnTheOtherRows) {
  Component component = component_of(places_of(Layout::crowded, 400, 4), 30);
  component.isotropic->far_field =
      std::make_shared<const FarField>(team(), *component.isotropic, component.combinations);
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
  const std::array<NumberView, 2> numbers{x.data(), y.data()};
  const auto columns = static_cast<std::size_t>(component.combinations.cols());
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < places.size(); row += row % 3 == 0 ? 2 : 1) rows.push_back(row);
  const auto evaluated = [&](bool prepared, int together) {
    PointEvaluator evaluator(tables, together);
    if (prepared) evaluator.prepare(numbers.data(), rows, {});
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
