// SPDX-License-Identifier: Apache-2.0
// Tests of terms agree with summary() of mgcv 1.8-41's bam on the reference data.
#include "gam/inference/term_tests.hpp"

#include "support/dense_fit.hpp"
#include "support/dense_model.hpp"
#include "support/reference_models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

TermTests tests_of(const DenseModel& model, const std::vector<double>& y, const Family& family,
                   int largest_tested = std::numeric_limits<int>::max()) {
  const DenseFit out = performance_iteration(model, y, family);
  const double edf = std::accumulate(out.fit.edf.begin(), out.fit.edf.end(), 0.0);
  return test_terms(model.design(), out.fit, out.gram, !family.scale_is_known(),
                    static_cast<double>(y.size()) - edf, largest_tested);
}

void expect_smooth(const SmoothTest& test, const std::string& label, double edf, double reference_df,
                   double p_value) {
  EXPECT_EQ(test.label, label);
  EXPECT_NEAR(test.edf, edf, 2e-4 * edf);
  EXPECT_NEAR(test.reference_df, reference_df, 2e-4 * reference_df);
  EXPECT_NEAR(test.p_value, p_value, 1e-3 * p_value);
}

/// Row i is in group i mod `groups`, so that groups do not differ.
std::vector<std::string> groups_of(std::size_t rows, std::size_t groups) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < rows; ++i) out.push_back(std::to_string(100 + i % groups));
  return out;
}

/// Smooths of x1 and x2, and random effects of 23 groups and of this many others.
DenseModel two_groupings(const ReferenceCase& data, std::size_t others) {
  DenseModel model = smooths_of(data, {"x1", "x2"}, 20);
  model.add_re("s(g)", groups_of(data.fitted.size(), 23));
  model.add_re("s(h)", groups_of(data.fitted.size(), others));
  return model;
}

TEST(TermTests, GaussianSmooths) {
  const ReferenceCase data = load_reference_case("c02_gs1_gauss");
  const TermTests tests =
      tests_of(smooths_of(data, {"x0", "x1", "x2", "x3"}, 20), data.numbers.at("y"), Gaussian{});
  ASSERT_EQ(tests.coefficients.size(), 1U);
  EXPECT_NEAR(tests.coefficients[0].estimate, 7.77082038475, 1e-9);
  EXPECT_NEAR(tests.coefficients[0].standard_error, 0.0432196909272, 1e-8);
  EXPECT_NEAR(tests.coefficients[0].statistic, 179.798147975, 1e-4);
  EXPECT_EQ(tests.coefficients[0].p_value, 0);
  ASSERT_EQ(tests.smooths.size(), 4U);
  expect_smooth(tests.smooths[0], "s(x0)", 5.05419554503, 6.18762802220, 0);
  expect_smooth(tests.smooths[1], "s(x1)", 4.57502451999, 5.62343738618, 0);
  expect_smooth(tests.smooths[2], "s(x2)", 12.76219544575, 14.66251292320, 0);
  expect_smooth(tests.smooths[3], "s(x3)", 1.00006326861, 1.00012643232, 0.379581436643);
  EXPECT_NEAR(tests.smooths[3].statistic, 0.77241147077, 1e-3);
}

TEST(TermTests, PoissonSmooths) {
  const ReferenceCase data = load_reference_case("c03_gs1_poisson");
  const TermTests tests =
      tests_of(smooths_of(data, {"x0", "x1", "x2", "x3"}, 20), data.numbers.at("y"), Poisson{});
  EXPECT_NEAR(tests.coefficients[0].statistic, 62.5659334064, 1e-4);
  expect_smooth(tests.smooths[0], "s(x0)", 3.62365262955, 4.48106633174, 8.29396011312e-05);
  expect_smooth(tests.smooths[1], "s(x1)", 2.73948430811, 3.39589040708, 0);
  expect_smooth(tests.smooths[2], "s(x2)", 9.13289591279, 10.88267237958, 0);
  expect_smooth(tests.smooths[3], "s(x3)", 1.00005658485, 1.00011308056, 0.524198706197);
}

TEST(TermTests, BinomialSmooths) {
  const ReferenceCase data = load_reference_case("c04_gs1_binary");
  const TermTests tests =
      tests_of(smooths_of(data, {"x0", "x1", "x2", "x3"}, 15), data.numbers.at("y"), Binomial{});
  EXPECT_NEAR(tests.coefficients[0].p_value, 1.15170539335e-119, 1e-3 * 1.15e-119);
  expect_smooth(tests.smooths[0], "s(x0)", 3.21551094821, 3.95462541440, 3.14807081930e-06);
  expect_smooth(tests.smooths[3], "s(x3)", 1.90525673857, 2.36676209077, 0.179674554539);
}

TEST(TermTests, FactorByAndParametricTerms) {
  const ReferenceCase data = load_reference_case("c06_gs4_by_factor");
  const TermTests tests = tests_of(factor_by_model(data), data.numbers.at("y"), Gaussian{});
  ASSERT_EQ(tests.coefficients.size(), 4U);
  EXPECT_NEAR(tests.coefficients[3].estimate, -0.081272159039, 1e-7);
  EXPECT_NEAR(tests.coefficients[3].standard_error, 0.177615403592, 1e-7);
  EXPECT_NEAR(tests.coefficients[3].p_value, 0.647325911120, 1e-6);
  EXPECT_NEAR(tests.coefficients[0].p_value, 9.89997472338e-23, 1e-4 * 9.9e-23);
  expect_smooth(tests.smooths[2], "s(x2):facL3", 9.86561306464, 11.15495299842, 0);
  expect_smooth(tests.smooths[3], "s(x0)", 1.00005292202, 1.00010575728, 0.691047821892);
}

TEST(TermTests, OneRandomEffectGaussian) {
  const ReferenceCase data = load_reference_case("c02_gs1_gauss");
  DenseModel model = smooths_of(data, {"x0", "x1", "x2"}, 20);
  model.add_re("s(g)", groups_of(data.fitted.size(), 23));
  const TermTests tests = tests_of(model, data.numbers.at("y"), Gaussian{});
  expect_smooth(tests.smooths[3], "s(g)", 7.69790838, 22, 0.05096704664);
  EXPECT_NEAR(tests.smooths[3].statistic, 0.5390065972, 1e-5);
}

TEST(TermTests, TwoRandomEffectsGaussian) {
  const ReferenceCase data = load_reference_case("c02_gs1_gauss");
  const DenseModel model = two_groupings(data, 11);
  const TermTests tests = tests_of(model, data.numbers.at("y"), Gaussian{});
  expect_smooth(tests.smooths[2], "s(g)", 5.040031417375, 22, 0.15899052724);
  expect_smooth(tests.smooths[3], "s(h)", 0.112594428733, 10, 0.42973643946);
  EXPECT_NEAR(tests.smooths[2].statistic, 0.2972209579541, 1e-5);
}

TEST(TermTests, OfAnInverseThatIsLostInRoundingAreNoError) {
  // For nearly dependent columns, rounded correlations exceed 1.
  const ReferenceCase data = load_reference_case("c02_gs1_gauss");
  DenseModel model = smooths_of(data, {"x1", "x2"}, 20);
  model.add_re("s(g)", groups_of(data.fitted.size(), 23));
  DenseFit out = performance_iteration(model, data.numbers.at("y"), Gaussian{});
  const CoefBlock& block = model.design().blocks[3];
  Matrix& inverse = out.fit.inverse.core;
  for (int i = block.coef_begin; i < block.coef_begin + block.coef_size; ++i) {
    for (int j = block.coef_begin; j < i; ++j)
      inverse(i, j) = inverse(j, i) = -1.3 * std::sqrt(inverse(i, i) * inverse(j, j));
  }
  const TermTests tests = test_terms(model.design(), out.fit, out.gram, true, 300, 1000);
  const double p_value = tests.smooths.back().p_value;
  EXPECT_TRUE(p_value >= 0 && p_value <= 1) << p_value;
}

TEST(TermTests, ARandomEffectOfMoreCoefficientsThanWantedIsNotTested) {
  const ReferenceCase data = load_reference_case("c02_gs1_gauss");
  const DenseModel model = two_groupings(data, 11);
  const TermTests all = tests_of(model, data.numbers.at("y"), Gaussian{});
  const TermTests some = tests_of(model, data.numbers.at("y"), Gaussian{}, 11);
  EXPECT_EQ(some.smooths[0].p_value, all.smooths[0].p_value);
  EXPECT_EQ(some.smooths[2].edf, all.smooths[2].edf);
  for (const double value :
       {some.smooths[2].reference_df, some.smooths[2].statistic, some.smooths[2].p_value})
    EXPECT_TRUE(std::isnan(value));
  EXPECT_EQ(some.smooths[3].p_value, all.smooths[3].p_value);
}

/// The same matrix with all of these blocks in its part.
PartedMatrix with_part_of(const Matrix& whole, const std::vector<CoefBlock>& blocks) {
  Part part;
  for (const CoefBlock& block : blocks) part.add(block.coef_begin, block.coef_size);
  SparsePattern pattern;
  for (int column = 0; column < part.size(); ++column) {
    for (int row = column + 1; row < part.size(); ++row) pattern.rows.push_back(row);
    pattern.begins.push_back(std::ssize(pattern.rows));
  }
  PartedMatrix out(whole.rows(), part, std::make_shared<const SparsePattern>(pattern));
  for (int j = 0; j < whole.cols(); ++j)
    for (int i = j; i < whole.rows(); ++i) out.set(i, j, whole(i, j));
  return out;
}

TEST(TermTests, EffectsOfThePartAreTestedAlike) {
  const ReferenceCase data = load_reference_case("c03_gs1_poisson");
  const DenseModel model = two_groupings(data, 29);
  DenseFit out = performance_iteration(model, data.numbers.at("y"), Poisson{});
  const TermTests whole = test_terms(model.design(), out.fit, out.gram, false, 250, 1000);
  const Matrix inverse = out.fit.inverse.core;
  const auto& blocks = model.design().blocks;
  for (const std::vector<CoefBlock>& of_part :
       {std::vector<CoefBlock>{blocks[3], blocks[4]}, std::vector<CoefBlock>{blocks[4]}}) {
    out.fit.inverse = with_part_of(inverse, of_part);
    const PartedMatrix gram = with_part_of(out.gram, of_part);
    const TermTests parted = test_terms(model.design(), out.fit, gram, false, 250, 1000);
    for (std::size_t i = 0; i < whole.smooths.size(); ++i) {
      EXPECT_NEAR(parted.smooths[i].statistic, whole.smooths[i].statistic, 1e-8 * whole.smooths[i].statistic);
      EXPECT_NEAR(parted.smooths[i].reference_df, whole.smooths[i].reference_df, 1e-8);
      EXPECT_NEAR(parted.smooths[i].p_value, whole.smooths[i].p_value, 1e-8);
    }
  }
}

TEST(TermTests, TwoRandomEffectsPoisson) {
  const ReferenceCase data = load_reference_case("c03_gs1_poisson");
  const DenseModel model = two_groupings(data, 29);
  const TermTests tests = tests_of(model, data.numbers.at("y"), Poisson{});
  expect_smooth(tests.smooths[2], "s(g)", 10.10714359463, 22, 0.00922153082010);
  expect_smooth(tests.smooths[3], "s(h)", 12.31562096965, 28, 0.00739907567609);
  EXPECT_NEAR(tests.smooths[3].statistic, 21.7627773325, 1e-3);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
