// SPDX-License-Identifier: Apache-2.0
// Plots of counts and proportions, for responses with a known distribution.
#include "gam/report/discrete_plots.hpp"
#include "gam/report/groups.hpp"
#include "support/well_formed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

FittedModel model_of(const std::string& family) {
  FittedModel model;
  model.family = chosen_family(family);
  return model;
}

/// Responses drawn from the model, with trials if it is binomial and `trials` is above 1.
ResponseSample drawn(const FittedModel& model, int rows, int trials = 1) {
  std::mt19937_64 engine(5);
  ResponseSample sample;
  for (int i = 0; i < rows; ++i) {
    const double eta = -1 + 2.5 * i / rows;
    const double mean = model.family.mean(eta);
    const double weight = 1 + i % trials;
    const double y =
        is_binomial(model.family)
            ? std::binomial_distribution<int>(static_cast<int>(weight), mean)(engine) / weight
        : model.family.parameters().empty()
            ? std::poisson_distribution<int>(mean)(engine)
            : std::poisson_distribution<int>(std::gamma_distribution<double>(
                  model.family.parameters()[0], mean / model.family.parameters()[0])(engine))(engine);
    sample.response.push_back(y);
    sample.predictor.push_back(eta);
    sample.weight.push_back(weight);
  }
  return sample;
}

/// The largest distance between the residuals' distribution and the normal one, times the root of their
/// number.
double kolmogorov(std::vector<double> residuals) {
  std::ranges::sort(residuals);
  double largest = 0;
  const auto n = static_cast<double>(residuals.size());
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    const double p = std::erfc(-residuals[i] / std::sqrt(2.0)) / 2;
    largest = std::max(
        {largest, std::abs(p - static_cast<double>(i) / n), std::abs(p - static_cast<double>(i + 1) / n)});
  }
  return largest * std::sqrt(n);
}

TEST(QuantileResiduals, AreNormalIfTheModelIsTrueAndNotElse) {
  for (const auto& [family, trials] : std::vector<std::pair<std::string, int>>{
           {"binomial", 1}, {"binomial", 9}, {"binomial(probit)", 3}, {"poisson", 1}, {"nb(theta=2)", 1}}) {
    const FittedModel model = model_of(family);
    const ResponseSample sample = drawn(model, 4000, trials);
    const std::vector<double> residuals = quantile_residuals(model, sample);
    ASSERT_EQ(residuals.size(), 4000U) << family;
    EXPECT_LT(kolmogorov(residuals), 1.63) << family << ": 1 % of true models are above";
    EXPECT_EQ(quantile_residuals(model, sample), residuals) << "no other draw";
  }
  EXPECT_GT(kolmogorov(quantile_residuals(model_of("poisson"), drawn(model_of("nb(theta=2)"), 4000))), 1.63);
}

TEST(QuantileResiduals, AreOfKnownDistributionsAlone) {
  EXPECT_TRUE(quantile_residuals(model_of("quasipoisson"), drawn(model_of("poisson"), 50)).empty());
  ResponseSample sample = drawn(model_of("poisson"), 50);
  sample.weight[7] = 2;
  EXPECT_TRUE(quantile_residuals(model_of("poisson"), sample).empty());
  sample = drawn(model_of("binomial"), 50, 4);
  sample.weight[7] = 2.5;
  EXPECT_TRUE(quantile_residuals(model_of("binomial"), sample).empty());
}

TEST(DiscreteResponses, AreReadFromTheResidualsOfAModel) {
  for (const char* family : {"binomial", "poisson", "nb(theta=2)"}) {
    FittedModel model = model_of(family);
    const ResponseSample sample = drawn(model, 500);
    for (std::size_t i = 0; i < sample.response.size(); ++i) {
      const double mean = model.family.mean(sample.predictor[i]);
      model.outline.linear_predictor.push_back(sample.predictor[i]);
      // Values have six digits, as in a model.
      const double residual = std::copysign(std::sqrt(model.family.deviance(sample.response[i], mean, 1)),
                                            sample.response[i] - mean);
      model.outline.deviance_residual.push_back(std::stod(std::to_string(residual)));
    }
    const auto found = discrete_responses(model, nullptr);
    ASSERT_TRUE(found) << family;
    EXPECT_EQ(found->response, sample.response) << family;
    // For other responses, and with unknown weights, there is no plot.
    FittedModel weighted = model;
    weighted.weights = "w";
    EXPECT_FALSE(discrete_responses(weighted, nullptr)) << family;
    model.outline.deviance_residual[3] += 0.01;
    EXPECT_FALSE(discrete_responses(model, nullptr)) << family;
  }
  EXPECT_FALSE(discrete_responses(model_of("gaussian"), nullptr));
}

TEST(DiscreteResponses, AreThoseOfTheTableWhereItIsGiven) {
  RowSample rows;
  rows.rows = 3;
  rows.response = {0.5, 1, 0};
  rows.linear_predictors = {{0, 1, 2}};
  rows.weight = {4, 2, 0};
  const auto found = discrete_responses(model_of("binomial"), &rows);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->response, (std::vector<double>{0.5, 1})) << "without weight there is no response";
}

TEST(Groups, HaveAsManyRowsEachInOrder) {
  const std::vector<double> keys{5, 1, 4, 2, 3, 0, 6, 7, 8, 9};
  const auto groups = groups_by(keys);
  ASSERT_EQ(groups.size(), 3U);
  double last = -1;
  std::size_t rows = 0;
  for (const auto& group : groups) {
    EXPECT_GE(group.size(), 3U);
    for (const std::size_t row : group) {
      EXPECT_GT(keys[row], last);
      last = keys[row];
      ++rows;
    }
  }
  EXPECT_EQ(rows, keys.size());
}

TEST(Groups, HaveRowsOfEqualKeysTogether) {
  std::vector<double> keys(100, 1.0);
  std::fill_n(keys.begin(), 7, 0.0);
  keys.back() = 2;
  const auto groups = groups_by(keys);
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].size(), 7U);
  EXPECT_EQ(groups[1].size(), 92U);
  EXPECT_EQ(groups[2], std::vector<std::size_t>{99});
  const GroupMeans means = group_means(keys, keys);
  EXPECT_EQ(means.y, (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(means.rows, (std::vector<double>{7, 92, 1}));
}

/// The numbers of a column of CSV.
std::vector<double> column(const std::string& csv, std::size_t index) {
  std::vector<double> out;
  std::size_t at = csv.find('\n') + 1;
  while (at < csv.size()) {
    std::size_t field = at;
    for (std::size_t i = 0; i < index; ++i) field = csv.find(',', field) + 1;
    out.push_back(std::strtod(csv.c_str() + field, nullptr));
    at = csv.find('\n', at) + 1;
  }
  return out;
}

TEST(DiscretePictures, HaveWhatIsObservedAndExpected) {
  const FittedModel poisson = model_of("poisson");
  const ResponseSample counts = drawn(poisson, 1000);
  const Picture roots = rootogram(poisson, counts);
  EXPECT_EQ(testing::xml_fault(roots.svg), "");
  const std::vector<double> observed = column(roots.csv, 1);
  const std::vector<double> expected = column(roots.csv, 2);
  EXPECT_EQ(observed[0], static_cast<double>(std::ranges::count(counts.response, 0.0)));
  EXPECT_EQ(std::accumulate(observed.begin(), observed.end(), 0.0), 1000);
  double zeros = 0;
  for (const double eta : counts.predictor) zeros += std::exp(-std::exp(eta));
  EXPECT_NEAR(expected[0], zeros, 1e-9);
  EXPECT_NEAR(std::accumulate(expected.begin(), expected.end(), 0.0), 1000, 1);

  const FittedModel binomial = model_of("binomial");
  const ResponseSample successes = drawn(binomial, 1000, 5);
  const Picture pairs = proportions(binomial, successes);
  EXPECT_EQ(testing::xml_fault(pairs.svg), "");
  EXPECT_EQ(column(pairs.csv, 0).size(), 31U);
  for (const auto& [model, sample] : {std::pair{binomial, successes}, std::pair{poisson, counts}}) {
    const Picture binned = binned_residuals(model, sample);
    EXPECT_EQ(testing::xml_fault(binned.svg), "");
    const std::vector<double> means = column(binned.csv, 1);
    const std::vector<double> limits = column(binned.csv, 2);
    int outside = 0;
    for (std::size_t i = 0; i < means.size(); ++i) outside += std::abs(means[i]) > limits[i] ? 1 : 0;
    EXPECT_LE(outside, 5) << "of 31, where 1.4 are expected";
  }
}

TEST(DiscretePictures, OfTwoEqualRowsAreThere) {
  for (const char* family : {"binomial", "poisson"}) {
    const FittedModel model = model_of(family);
    const ResponseSample sample{{0, 0}, {0, 0}, {1, 1}};
    for (const Picture& picture :
         {is_binomial(model.family) ? proportions(model, sample) : rootogram(model, sample),
          binned_residuals(model, sample)}) {
      EXPECT_EQ(testing::xml_fault(picture.svg), "");
      EXPECT_EQ(picture.svg.find("nan"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
