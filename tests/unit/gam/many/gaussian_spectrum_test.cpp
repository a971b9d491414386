// SPDX-License-Identifier: Apache-2.0
// Gaussian responses in the coordinates that make a design diagonal have the fits of the general search.
#include "gam/many/gaussian_spectrum.hpp"
#include "gam/many/spectra_by_missing_rows.hpp"
#include "support/many_model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <tuple>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

constexpr int subject_count = 203;  // not a multiple of eight

std::vector<Table::Column> subjects() {
  std::mt19937_64 random(23);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<double> age;
  std::vector<double> motion;
  std::vector<double> weight;
  Factor sex{.codes = {}, .levels = {"f", "m"}};
  for (int i = 0; i < subject_count; ++i) {
    age.push_back(uniform(random));
    motion.push_back(uniform(random));
    weight.push_back(0.5 + uniform(random));
    sex.codes.push_back(uniform(random) < 0.5 ? 0 : 1);
  }
  return {{"age", age}, {"motion", motion}, {"w", weight}, {"sex", sex}};
}

/// The same but for rounding, where the criterion determines it: a relative change c of a coefficient changes
/// the criterion by c^2.
void expect_same(const ResponseFit& one, const ResponseFit& other) {
  EXPECT_EQ(one.status, other.status);
  EXPECT_EQ(one.rows, other.rows);
  EXPECT_NEAR(one.mean, other.mean, 1e-12 * std::abs(other.mean));
  EXPECT_EQ(one.zeros, other.zeros);
  ASSERT_EQ(one.is_fitted(), other.is_fitted());
  if (!one.is_fitted()) return;
  EXPECT_NEAR(one.criterion, other.criterion, 1e-10 * std::abs(other.criterion));
  ASSERT_EQ(std::isinf(one.log_sp[0]), std::isinf(other.log_sp[0]));
  if (!std::isinf(one.log_sp[0])) {
    EXPECT_NEAR(one.log_sp[0], other.log_sp[0], 1e-4);
  }
  EXPECT_NEAR(one.deviance, other.deviance, 1e-7 * other.deviance);
  EXPECT_NEAR(one.null_deviance, other.null_deviance, 1e-10 * other.null_deviance);
  EXPECT_NEAR(one.log_likelihood, other.log_likelihood, 1e-7 * std::abs(other.log_likelihood));
  EXPECT_NEAR(one.scale, other.scale, 1e-7 * other.scale);
  double size = 0;
  for (const double b : other.coef) size = std::max(size, std::abs(b));
  for (std::size_t i = 0; i < other.coef.size(); ++i) {
    EXPECT_NEAR(one.coef[i], other.coef[i], 1e-6 * size);
    EXPECT_NEAR(one.coef_of_tests[i], other.coef_of_tests[i], 1e-6 * size);
  }
  for (std::size_t i = 0; i < other.inverse.size(); ++i) {
    EXPECT_NEAR(one.gram[i], other.gram[i], 1e-9 * subject_count);
    EXPECT_NEAR(one.inverse[i], other.inverse[i], 1e-6 * other.inverse[0]);
  }
}

class Spectrum : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(Spectrum, HasTheFitsOfTheGeneralSearch) {
  const auto& [terms, weights] = GetParam();
  const std::vector<Table::Column> columns = subjects();
  const ManyModel model(columns, subject_count, terms, weights);
  ASSERT_NE(model.design().spectrum, nullptr);
  SharedDesign general = model.design();
  general.spectrum.reset();
  ResponseFitter by_spectrum(model.design(), {.family = ManyFamily::gaussian});
  ResponseFitter by_search(general, {.family = ManyFamily::gaussian});
  const auto& age = std::get<std::vector<double>>(columns[0].values);
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(0, 1);
  int limits = 0;
  for (int response = 0; response < 60; ++response) {
    // Noise alone, curves, lines, curves with hardly any noise, far from zero, and of a small unit.
    const double noise = response % 6 == 3 ? 1e-4 : 1;
    const double level = response % 6 == 4 ? 1e4 : 0;
    const double unit = response % 6 == 5 ? 1e-8 : 1;
    const double wave = response % 6 == 0 ? 0 : 0.5 * normal(random);
    std::vector<double> y;
    for (const double t : age)
      y.push_back(unit *
                  (level + noise * normal(random) + (response % 6 == 2 ? 2 * t : wave * std::sin(5 * t))));
    const ResponseFit fit = by_spectrum.fit(y);
    expect_same(fit, by_search.fit(y));
    limits += fit.is_fitted() && std::isinf(fit.log_sp[0]) ? 1 : 0;
  }
  EXPECT_GT(limits, 0);
  const std::vector<double> constant(subject_count, 4.0);
  EXPECT_EQ(by_spectrum.fit(constant).status, ManyStatus::constant);
}

/// A curve with noise; row r is missing if r % 7 == `missing`.
std::vector<double> incomplete_response(const std::vector<double>& age, int missing) {
  std::mt19937_64 random(static_cast<std::uint64_t>(missing) + 1);
  std::normal_distribution<double> normal(0, 1);
  std::vector<double> y;
  for (std::size_t row = 0; row < age.size(); ++row)
    y.push_back(static_cast<int>(row % 7) == missing ? std::numeric_limits<double>::quiet_NaN()
                                                     : std::sin(5 * age[row]) + normal(random));
  return y;
}

TEST_P(Spectrum, HasTheFitsOfTheGeneralSearchWithMissingValues) {
  const auto& [terms, weights] = GetParam();
  const std::vector<Table::Column> columns = subjects();
  const ManyModel model(columns, subject_count, terms, weights);
  SharedDesign general = model.design();
  general.spectrum.reset();
  ResponseFitter by_spectrum(model.design(), {.family = ManyFamily::gaussian});
  ResponseFitter by_search(general, {.family = ManyFamily::gaussian});
  const auto& age = std::get<std::vector<double>>(columns[0].values);
  // Missing rows that change from response to response and come again: the same bits as of each alone.
  for (const int missing : {0, 3, 0, 6, 3}) {
    const std::vector<double> y = incomplete_response(age, missing);
    const ResponseFit fit = by_spectrum.fit(y);
    expect_same(fit, by_search.fit(y));
    const ResponseFit alone = ResponseFitter(model.design(), {.family = ManyFamily::gaussian}).fit(y);
    EXPECT_EQ(fit.coef, alone.coef);
    EXPECT_EQ(fit.criterion, alone.criterion);
  }
  // As many as min_rows leaves out.
  EXPECT_EQ(ResponseFitter(model.design(), {.family = ManyFamily::gaussian, .least_rows = 175})
                .fit(incomplete_response(age, 1))
                .status,
            ManyStatus::too_few);
}

INSTANTIATE_TEST_SUITE_P(Designs, Spectrum,
                         ::testing::Values(std::tuple("s(age, k = 4) + sex + motion", ""),
                                           std::tuple("s(age, bs = \"cr\", k = 9) + offset(motion)", "w"),
                                           std::tuple("sex + s(age, by = sex, bs = \"cr\", k = 6, id = 1)",
                                                      ""),
                                           std::tuple("s(age, k = 7) - 1", "w"),
                                           std::tuple("motion + s(sex, bs = \"re\") - 1", "")));

/// All rows of a level are missing: the others do not determine its coefficients.
TEST(GaussianSpectrum, IsNotUsedIfMissingRowsLeaveOutALevel) {
  const std::vector<Table::Column> columns = subjects();
  const ManyModel model(columns, subject_count, "s(age, k = 4) + sex");
  const auto& sex = std::get<Factor>(columns[3].values);
  std::vector<double> y = std::get<std::vector<double>>(columns[1].values);
  for (std::size_t row = 0; row < y.size(); ++row) {
    if (sex.codes[row] == 1) y[row] = std::numeric_limits<double>::quiet_NaN();
  }
  ASSERT_NE(model.design().spectrum, nullptr);
  EXPECT_EQ(SpectraByMissingRows(model.design()).of(y), nullptr);
  SharedDesign general = model.design();
  general.spectrum.reset();
  const ResponseFit fit = ResponseFitter(model.design(), {.family = ManyFamily::gaussian}).fit(y);
  EXPECT_EQ(fit.coef, ResponseFitter(general, {.family = ManyFamily::gaussian}).fit(y).coef);
}

TEST(GaussianSpectrum, IsOfOneParameter) {
  for (const char* const terms : {"s(age) + s(motion)", "te(age, motion, k = 4)", "sex"})
    EXPECT_EQ(ManyModel(subjects(), subject_count, terms).design().spectrum, nullptr);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
