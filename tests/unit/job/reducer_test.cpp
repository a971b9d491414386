// SPDX-License-Identifier: Apache-2.0
#include <tessera/job/reducer.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <class R>
typename R::Value folded(const std::vector<typename R::Value>& values) {
  typename R::Value result = R::identity();
  for (const auto& value : values) result = R::combine(result, value);
  return result;
}

static_assert(Reducer<Sum<int>> && Reducer<Minimum<float>> && Reducer<MaximumAt<std::uint64_t>>);
static_assert(!Reducer<int> && !Reducer<std::string>);
static_assert(Minimum<int>::combine(3, -2) == -2 && Maximum<int>::combine(3, -2) == 3);

TEST(Reducer, ExtremesOfNumbers) {
  EXPECT_EQ(folded<Minimum<double>>({3, -1, 2}), -1);
  EXPECT_EQ(folded<Maximum<double>>({3, -1, 2}), 3);
  EXPECT_EQ(folded<Maximum<double>>({-3, -infinity}), -3);
  EXPECT_EQ(folded<Minimum<std::uint32_t>>({7, 4'000'000'000}), 7u);
  EXPECT_EQ(folded<Maximum<std::int8_t>>({-128}), -128);
}

TEST(Reducer, TheValueOfNoUnit) {
  EXPECT_EQ(Minimum<double>::identity(), infinity);
  EXPECT_EQ(Maximum<float>::identity(), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(Minimum<std::int64_t>::identity(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(Maximum<std::int64_t>::identity(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(MinimumAt<double>::identity().at, Located<double>::nowhere);
  EXPECT_EQ(Sum<int>::identity(), 0);
}

TEST(Reducer, ANaNIsPreferredToNumbersOnEitherSide) {
  EXPECT_TRUE(std::isnan(folded<Minimum<double>>({1, nan, -infinity})));
  EXPECT_TRUE(std::isnan(folded<Maximum<double>>({1, nan, infinity})));
  const auto first_of = [](auto reducer) {
    using R = decltype(reducer);
    return folded<R>({{1, 4}, {nan, 9}, {-5, 2}, {nan, 7}}).at;
  };
  EXPECT_EQ(first_of(MinimumAt<double>{}), 7);
  EXPECT_EQ(first_of(MaximumAt<double>{}), 7);
  // Ties: the first, with its bits.
  const auto second = std::bit_cast<double>(std::bit_cast<std::uint64_t>(nan) | 5);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(Minimum<double>::combine(second, nan)),
            std::bit_cast<std::uint64_t>(second));
}

TEST(Reducer, OfEqualNumbersTheLowestPlaceOrTheFirst) {
  EXPECT_EQ(folded<MinimumAt<int>>({{5, 8}, {2, 6}, {2, 3}, {2, 9}}).at, 3);
  EXPECT_EQ(folded<MaximumAt<int>>({{5, 8}, {5, 6}, {2, 3}}).at, 6);
  EXPECT_EQ(folded<MinimumAt<double>>({{infinity, 8}}).at, 8) << "and not that of no unit";
  EXPECT_TRUE(std::signbit(Minimum<double>::combine(-0.0, 0.0)));
  EXPECT_FALSE(std::signbit(Minimum<double>::combine(0.0, -0.0)));
}

TEST(Reducer, IsAssociative) {
  const std::vector<Located<double>> values{
      {1, 3},   {1, 1},  {-0.0, 5},      {0.0, 2},       {nan, 9},
      {nan, 4}, {-7, 0}, {infinity, 11}, {-infinity, 6}, MinimumAt<double>::identity()};
  const auto same = [](const Located<double>& a, const Located<double>& b) {
    return std::bit_cast<std::uint64_t>(a.value) == std::bit_cast<std::uint64_t>(b.value) && a.at == b.at;
  };
  const auto check = [&](auto reducer) {
    using R = decltype(reducer);
    for (const auto& a : values)
      for (const auto& b : values)
        for (const auto& c : values)
          EXPECT_TRUE(same(R::combine(R::combine(a, b), c), R::combine(a, R::combine(b, c))));
  };
  check(MinimumAt<double>{});
  check(MaximumAt<double>{});
}

TEST(Reducer, SumsOfIntegersAreModuloTheirBits) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(folded<Sum<std::int64_t>>({most, most, 2}), 0);
  EXPECT_EQ((folded<Sum<std::uint8_t>>({200, 100})), 44);
  EXPECT_EQ((folded<Sum<std::int64_t>>({(std::int64_t{1} << 53), 1})), (std::int64_t{1} << 53) + 1);
  EXPECT_EQ(folded<Sum<double>>({0.5, 0.25}), 0.75);
}

struct Look {
  double least;
  Located<float> greatest;
  std::int64_t count;
};
using Looks = Fields<Field<&Look::least, Minimum<double>>, Field<&Look::greatest, MaximumAt<float>>,
                     Field<&Look::count, Sum<std::int64_t>>>;
static_assert(Reducer<Looks>);

TEST(Reducer, FieldsAreCombinedEachByItsOwn) {
  const Look all = folded<Looks>({{3, {1, 0}, 10}, {2, {9, 1}, 20}, {4, {9, 2}, 30}});
  EXPECT_EQ(all.least, 2);
  EXPECT_EQ(all.greatest.value, 9);
  EXPECT_EQ(all.greatest.at, 1);
  EXPECT_EQ(all.count, 60);
  EXPECT_EQ(Looks::identity().least, infinity);
}

}  // namespace
}  // namespace tessera::testing
