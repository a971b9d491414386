// SPDX-License-Identifier: Apache-2.0
// Packets of rows have the bits of single rows, at every width of registers.
#include "gam/rows/packet_rows.hpp"
#include "gam/family/location_scale.hpp"
#include "gam/family/packet_families.hpp"
#include "gam/family/visit.hpp"

#include "support/each_width.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr int row_count = 256;

/// Whether two numbers are the same, as any NaN is the same as another one.
bool same(double a, double b) {
  return base::bits_of(a) == base::bits_of(b) || (std::isnan(a) && std::isnan(b));
}

/// Ordinary rows, and some with numbers at the limits.
struct SomeRows {
  explicit SomeRows(const Family& family) {
    std::mt19937_64 random(5);
    std::normal_distribution<double> normal;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const std::array<double, 8> odd{infinity, -infinity, std::nan(""), 0, -0.0, 40, -800, 750};
    for (std::size_t r = 0; r < row_count; ++r) {
      eta.push_back(r % 11 == 0 ? odd[random() % odd.size()] : normal(random));
      offset.push_back(normal(random));
      prior.push_back(r % 7 == 0 ? 0 : std::exp(normal(random)));
      const double size = std::floor(5 * std::exp(normal(random)));
      double y = family.limits().has_upper() ? std::fmod(size, 2) : size;
      if (family.classes() > 0 && !family.two_levels()) y = 1 + std::fmod(size, family.classes());
      if (family.name() == "betar") y = 1 / (1 + size);
      response.push_back(r % 17 == 0 ? odd[random() % odd.size()] : y);
      // A third is known; others are between two numbers, or have only one.
      const double width = std::floor(8 * std::exp(normal(random))) + 1;
      const double second = r % 3 == 1   ? y + (r % 2 == 0 ? width : -width)
                            : r % 2 == 0 ? infinity
                                         : -infinity;
      limit.push_back(family.is_censored() && r % 3 != 0 ? second : response.back());
      if (family.name() == "cpois" && r % 3 != 0) response.back() += 0.5;
      if (family.name() == "cpois" && r % 3 == 1) limit.back() += 0.5;
    }
  }
  [[nodiscard]] Response of(std::size_t r) const { return {response[r], limit[r]}; }

  std::vector<double> response, limit, eta, offset, prior;
};

/// Every packet family, with each of its links.
template <class Use>
void for_each_family(const Use& use) {
  for (const Family& family : built_in_families()) {
    Family one = family;
    if (one.name() == "ocat") one = one.at({-1, 0.5, 2});
    if (one.name() == "quasi") one = one.at({2});
    if (one.name() == "Tweedie") one = one.at({1.6});
    if (one.name() == "elf") one = one.at({0.3, -1, 0, 0.2});
    for (const std::string_view link : one.link_names()) {
      const Family linked = one.linked(link).value();
      visit(linked, [&](const auto& formulas) {
        SCOPED_TRACE(linked.text());
        if constexpr (requires { requires PacketFamily<std::decay_t<decltype(formulas)>>; })
          use(linked, formulas);
      });
    }
  }
}

TEST(PacketRows, HaveTheBitsOfSingleRows) {
  int families = 0;
  for_each_family([&](const Family& family, const auto& formulas) {
    ++families;
    const SomeRows some(family);
    for (const PassKind kind : {PassKind::moments, PassKind::start, PassKind::step, PassKind::deviance}) {
      rows_test::at_each_width([&] {
        std::vector<double> weight(row_count);
        std::vector<double> residual(row_count);
        std::vector<double> scalars(std::size_t{row_scalar_count} * row_count);
        row_outcomes(kind, formulas,
                     {row_count, row_count, some.response.data(), some.eta.data(), some.offset.data(),
                      some.prior.data(), weight.data(), residual.data(), scalars.data(), some.limit.data()});
        for (std::size_t r = 0; r < row_count; ++r) {
          const RowOutcome<double> row =
              row_outcome<double>(kind, formulas, some.of(r), some.eta[r], some.offset[r], some.prior[r]);
          ASSERT_TRUE(same(weight[r], row.weight)) << r << ' ' << weight[r] << ' ' << row.weight;
          ASSERT_TRUE(same(residual[r], row.residual)) << r << ' ' << residual[r] << ' ' << row.residual;
          for (std::size_t k = 0; k < std::size_t{row_scalar_count}; ++k)
            ASSERT_TRUE(same(scalars[k * row_count + r], row.scalars[k])) << r << ' ' << k;
        }
      });
    }
  });
  EXPECT_GT(families, 44);
}

/// The same of the parts that a pass for the parameters adds.
TEST(PacketRows, HaveTheLikelihoodTermsOfSingleRows) {
  int families = 0;
  for_each_family([&]<class F>(const Family& family, const F& formulas) {
    if constexpr (ParametricFamily<F>) {
      ++families;
      const SomeRows some(family);
      const auto count = static_cast<std::size_t>(parameter_scalar_count(parameter_count_of(formulas)));
      constexpr std::size_t part_count = part_count_of<F>();
      std::vector<double> parts(part_count * row_count);
      if constexpr (part_count > 0) {
        for (std::size_t r = 0; r < row_count; ++r) {
          const double y = std::isfinite(some.response[r]) && some.response[r] > 0 ? some.response[r] : 0;
          const auto part = std::bit_cast<std::array<double, part_count>>(formulas.response_part(y));
          for (std::size_t k = 0; k < part_count; ++k) parts[k * row_count + r] = part[k];
        }
      }
      rows_test::at_each_width([&] {
        std::vector<double> scalars(count * row_count);
        likelihood_outcomes(formulas, {row_count, row_count, some.response.data(), some.eta.data(),
                                       some.prior.data(), parts.data(), scalars.data(), some.limit.data()});
        for (std::size_t r = 0; r < row_count; ++r) {
          std::vector<double> alone(count);
          if constexpr (part_count > 0) {
            std::array<double, part_count> part{};
            for (std::size_t k = 0; k < part_count; ++k) part[k] = parts[k * row_count + r];
            formulas.likelihood_terms(some.response[r], formulas.mean(some.eta[r]),
                                      std::bit_cast<typename F::template ResponsePart<double>>(part),
                                      alone.data());
            settle_likelihood(formulas, some.eta[r], some.prior[r], alone.data());
          } else {
            likelihood_outcome(formulas, some.of(r), some.eta[r], some.prior[r], alone.data());
          }
          for (std::size_t k = 0; k < count; ++k)
            ASSERT_TRUE(same(scalars[k * row_count + r], alone[k])) << r << ' ' << k;
        }
      });
    }
  });
  EXPECT_GT(families, 15);
}

template <class F>
void expect_same_several(const F& family, double largest) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  // One more than packets of any width, so that the last one is not full.
  constexpr std::size_t count = 41;
  constexpr std::size_t pairs = predictor_pairs(F::predictors);
  std::vector<double> y;
  std::vector<double> prior(count, 1.5);
  std::vector<double> eta;
  for (std::size_t r = 0; r < count; ++r) y.push_back(std::floor(largest * std::abs(normal(random))) + 1);
  for (std::size_t i = 0; i < F::predictors * count; ++i) eta.push_back(i % 13 == 0 ? 30 : normal(random));
  rows_test::at_each_width([&] {
    std::vector<double> value(count);
    std::vector<double> gradient(F::predictors * count);
    std::vector<double> weights(pairs * count);
    evaluate_in_packets(family, {static_cast<int>(count), static_cast<int>(count), y.data(), prior.data(),
                                 eta.data(), value.data(), gradient.data(), weights.data()});
    for (std::size_t r = 0; r < count; ++r) {
      std::array<double, F::predictors> at{};
      std::array<double, F::predictors> scores{};
      std::array<double, pairs> curvatures{};
      for (std::size_t p = 0; p < at.size(); ++p) at[p] = eta[p * count + r];
      const double alone = row_log_likelihood(family, y[r], at.data(), scores.data(), curvatures.data());
      ASSERT_TRUE(same(value[r], 1.5 * alone)) << r;
      for (std::size_t p = 0; p < at.size(); ++p) ASSERT_TRUE(same(gradient[p * count + r], 1.5 * scores[p]));
      for (std::size_t k = 0; k < pairs; ++k) ASSERT_TRUE(same(weights[k * count + r], 1.5 * curvatures[k]));
    }
  });
}

TEST(PacketRows, OfSeveralPredictorsHaveTheBitsOfSingleRows) {
  expect_same_several(Gaulss{0.01}, 5);
  expect_same_several(Gammals{{-7}}, 5);
  expect_same_several(Gumbls{{-7}}, 5);
  expect_same_several(Gevlss{}, 1);
  expect_same_several(Shash{0.01}, 5);
  expect_same_several(Twlss{1.01, 1.99}, 5);
  expect_same_several(Ziplss{}, 3);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
