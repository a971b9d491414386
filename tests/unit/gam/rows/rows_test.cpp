// SPDX-License-Identifier: Apache-2.0
// The host's pass over rows, without a job, agrees with the definition, with the same bits for any cuts.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "base/hash.hpp"
#include "gam/basis/far_field.hpp"
#include "gam/linalg/linalg.hpp"
#include "gam/rows/aligned_sums.hpp"
#include "gam/rows/host_pass.hpp"
#include "gam/rows/layout.hpp"
#include "gam/rows/response_fingerprint.hpp"
#include "gam/rows/row_reader.hpp"
#include "gam/terms/evaluation.hpp"
#include "gam/terms/point_values.hpp"
#include "support/each_width.hpp"
#include "support/rows_model.hpp"

namespace {

using rows_test::at_each_width;
using rows_test::DenseStep;
using rows_test::make_model;
using rows_test::Model;
using namespace tessera::gam;
namespace base = tessera::base;

constexpr double tolerance = 2e-14;

/// The vector of sums of a pass over rows cut at `cuts`.
std::vector<double> reduce(const Model& model, PassKind kind, const std::vector<std::size_t>& cuts = {}) {
  const Rows rows = model.rows_of(model.frame);
  const RowLayout layout(model.design, 0, nullptr, &model.series);
  HostRows host(rows, layout);
  std::vector<double> sums(layout.width(kind));
  std::size_t begin = 0;
  for (const std::size_t cut : cuts) {
    host.add(kind, model.raw_coef, begin, cut, sums);
    begin = cut;
  }
  host.add(kind, model.raw_coef, begin, model.frame.complete.size(), sums);
  return sums;
}

RawSums sums_of(const Model& model, PassKind kind, const std::vector<std::size_t>& cuts = {}) {
  return RowLayout(model.design, 0, nullptr, &model.series).sums(reduce(model, kind, cuts));
}

class RowsOfFamily : public ::testing::TestWithParam<Family> {};

TEST_P(RowsOfFamily, StepIsTheDenseOne) {
  const Model model = make_model({.family = GetParam()});
  rows_test::expect_near(sums_of(model, PassKind::step), dense_sums(model, DenseStep::step), tolerance);
}

TEST_P(RowsOfFamily, StepWithoutOffsetsWeightsOrMissingRowsIsTheDenseOne) {
  const Model model =
      make_model({.family = GetParam(), .rows = 700, .offsets = false, .weights = false, .missing = false});
  rows_test::expect_near(sums_of(model, PassKind::step), dense_sums(model, DenseStep::step), tolerance);
}

TEST(Rows, AStepOfManyRowsIsTheDenseOne) {
  const Model model = make_model({.family = Poisson{}, .rows = 20'000, .seed = 6});
  const RowLayout layout(model.design);
  const AlignedSums aligned(layout);
  ASSERT_TRUE(aligned.worth(20'000));
  const auto here = std::ranges::count_if(layout.all_products,
                                          [&](const Product& product) { return aligned.has(product); });
  EXPECT_GT(here, 0);
  EXPECT_LT(here, std::ssize(layout.all_products));
  rows_test::expect_near(sums_of(model, PassKind::step), dense_sums(model, DenseStep::step), tolerance);
}

/// Correlated neighbouring rows: the transformed rows are summed.
void expect_transformed(Model model) {
  for (const bool by_factor : {false, true}) {
    for (const double rho : {0.6, -0.9}) {
      Model correlated = model;
      rows_test::add_series(correlated, rho, by_factor);
      rows_test::expect_near(sums_of(correlated, PassKind::step), dense_sums(correlated, DenseStep::step),
                             tolerance);
      rows_test::expect_near(sums_of(correlated, PassKind::start), dense_sums(correlated, DenseStep::start),
                             tolerance);
      EXPECT_EQ(reduce(correlated, PassKind::deviance), reduce(model, PassKind::deviance));
    }
  }
}

TEST_P(RowsOfFamily, CorrelatedRowsAreTransformed) {
  expect_transformed(make_model({.family = GetParam(), .terms = 10}));
}

TEST(Rows, CorrelatedRowsOfAnyTermsAreTransformed) {
  expect_transformed(make_model({.rows = 300, .offsets = false, .weights = false, .missing = false}));
  expect_transformed(make_model({.rows = 60, .terms = 14}));
  expect_transformed(make_model({.family = Gamma{}, .rows = 300, .dense = true}));
  expect_transformed(make_model({.family = Gamma{}, .rows = 300, .curves = true}));
  expect_transformed(make_model({.rows = 5000, .terms = 6}));
}

/// The preceding row may be in another group of rows that are evaluated together.
TEST(Rows, CorrelatedRowsOfAFarFieldAreThoseOfAllPoints) {
  Model direct = make_model({.family = Gaussian{}, .rows = 9000, .curves = true});
  Model fast = direct;
  int found = 0;
  for (std::size_t t = 0; t < direct.design.terms.size(); ++t) {
    for (std::size_t c = 0; c < direct.design.terms[t].components.size(); ++c) {
      Component& component = direct.design.terms[t].components[c];
      if (!component.isotropic || component.isotropic->shift.size() != 2) continue;
      constexpr int points = 300;
      IsotropicColumns& columns = *component.isotropic;
      columns.function = {RadialKind::power_log, 2, 1};
      columns.points = Matrix(points, 2);
      for (int i = 0; i < points; ++i) {
        columns.points(i, 0) = std::fmod(0.618034 * i, 1) - 0.5;
        columns.points(i, 1) = std::fmod(0.754878 * i, 1) - 0.5;
      }
      component.combinations =
          Matrix(points + static_cast<int>(columns.powers.size()), component.combinations.cols());
      for (int j = 0; j < component.combinations.cols(); ++j) {
        for (int i = 0; i < component.combinations.rows(); ++i)
          component.combinations(i, j) = std::cos(0.9 * i + 1.7 * j * j) / 8;
      }
      ASSERT_TRUE(FarField::applies(columns));
      Component& own = fast.design.terms[t].components[c];
      own = component;
      tessera::HostTeam team(2);
      own.isotropic->far_field = std::make_shared<const FarField>(team, columns, component.combinations);
      ++found;
    }
  }
  ASSERT_GT(found, 0);
  for (Model* model : {&direct, &fast}) rows_test::add_series(*model, 0.6, false);
  const std::vector<double> expected = reduce(direct, PassKind::step);
  for (const std::vector<std::size_t>& cuts : {std::vector<std::size_t>{}, {4097}}) {
    const std::vector<double> sums = reduce(fast, PassKind::step, cuts);
    ASSERT_EQ(sums.size(), expected.size());
    const double size = largest(expected);
    for (std::size_t i = 0; i < sums.size(); ++i) ASSERT_NEAR(sums[i], expected[i], 1e-12 * size) << i;
  }
}

/// A covariate that changes little between rows loses no digits with rho near 1.
TEST(Rows, CorrelatedRowsThatDifferLittleKeepTheirDigits) {
  Model model =
      rows_test::make_splines({.rows = 2000, .offsets = false, .weights = false, .missing = false}, 1);
  std::ranges::sort(model.frame.variables.back().numbers.own());
  for (double& value : model.frame.variables[3].numbers.own()) value = 1;
  rows_test::add_series(model, 0.9999, false);
  std::ranges::fill(model.frame.variables.back().numbers.own(), 0.0);
  const RawSums sums = sums_of(model, PassKind::step);
  const rows_test::DenseSums dense = dense_sums(model, DenseStep::step);
  const std::size_t size = dense.gradient.size();
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      const auto own = static_cast<double>(std::sqrt(dense.gram[i * size + i] * dense.gram[j * size + j]));
      EXPECT_NEAR(sums.gram(static_cast<int>(i), static_cast<int>(j)),
                  static_cast<double>(dense.gram[j * size + i]), 1e-11 * own)
          << i << ", " << j;
    }
  }
}

TEST(Rows, ABlockThatBeginsInASeriesHasTheRowBeforeIt) {
  Model model = make_model({.family = Poisson{}, .terms = 10});
  rows_test::add_series(model, 0.6, false);
  rows_test::expect_near(sums_of(model, PassKind::step, {1, 40, 41, 300}), dense_sums(model, DenseStep::step),
                         tolerance);
}

TEST(Rows, ATermOfThreeSplinesIsTheDenseOne) {
  const Model model = make_model({.family = Gamma{}, .rows = 300, .terms = 14});
  rows_test::expect_near(sums_of(model, PassKind::step), dense_sums(model, DenseStep::step), tolerance);
}

/// The predictors of single rows agree with the definition.
void expect_predictors(const Model& model) {
  RowReader reader(model.frame, model.design);
  for (std::size_t row = 0; row < 60; ++row) {
    if (model.frame.complete[row] == 0) continue;
    const auto dense = rows_test::dense_row(model, row);
    long double eta = 0;
    for (std::size_t i = 0; i < dense.size(); ++i) eta += dense[i] * model.raw_coef[i];
    EXPECT_NEAR(reader.linear_predictor(row, model.raw_coef), static_cast<double>(eta), 1e-12);
  }
}

TEST(Rows, DenseColumnsAreCombinationsOfThoseOfATerm) {
  const Model model = make_model({.family = Gamma{}, .rows = 700, .dense = true});
  rows_test::expect_near(sums_of(model, PassKind::step), dense_sums(model, DenseStep::step), tolerance);
  expect_predictors(model);
}

TEST(Rows, DenseComponentsAreCombinationsOfTheirMargins) {
  for (const std::size_t terms : {std::size_t{1}, std::size_t{13}}) {
    const Model model = make_model({.family = Gamma{}, .rows = 700, .terms = terms, .curves = true});
    rows_test::expect_near(sums_of(model, PassKind::step), dense_sums(model, DenseStep::step), tolerance);
    expect_predictors(model);
  }
}

/// Units of the response and the weights are applied in the row.
TEST(Rows, FactorsOfTheResponseAndTheWeightsAreThoseOfTheColumns) {
  Model scaled = make_model({});
  const Model model = make_model({});
  const auto multiply = [&](int variable, double factor) {
    for (double& value : scaled.frame.variables[static_cast<std::size_t>(variable)].numbers.own())
      value *= factor;
  };
  multiply(scaled.response, 0.25);
  for (const int offset : scaled.offsets) multiply(offset, 0.25);
  multiply(scaled.prior_weight, 8);
  const RowLayout layout(model.design);
  Rows rows = model.rows_of(model.frame);
  rows.response_factor = 0.25;
  rows.prior_factor = 8;
  HostRows host(rows, layout);
  for (const PassKind kind : {PassKind::moments, PassKind::step, PassKind::deviance}) {
    std::vector<double> sums(layout.width(kind));
    host.add(kind, model.raw_coef, 0, model.frame.complete.size(), sums);
    EXPECT_EQ(sums, reduce(scaled, kind));
  }
}

TEST_P(RowsOfFamily, StartIsTheDenseOne) {
  const Model model = make_model({.family = GetParam(), .seed = 2});
  rows_test::expect_near(sums_of(model, PassKind::start), dense_sums(model, DenseStep::start), tolerance);
}

TEST_P(RowsOfFamily, DevianceIsThatOfAStepWithResidualsOfTheResponse) {
  const Model model = make_model({.family = GetParam(), .seed = 3});
  const RawDeviance alone = RowLayout::deviance(reduce(model, PassKind::deviance));
  EXPECT_EQ(alone.deviance, sums_of(model, PassKind::step).deviance);
  EXPECT_EQ(alone.bad_rows, 0);

  long double sum = 0;
  long double square = 0;
  const auto numbers = [&](int variable) -> const ColumnNumbers& {
    return model.frame.variables[static_cast<std::size_t>(variable)].numbers;
  };
  RowReader reader(model.frame, model.design);
  for (std::size_t row = 0; row < model.frame.complete.size(); ++row) {
    if (model.frame.complete[row] == 0) continue;
    double eta = reader.linear_predictor(row, model.raw_coef);
    for (const int offset : model.offsets) eta += numbers(offset)[row];
    const double prior = model.prior_weight < 0 ? 1 : numbers(model.prior_weight)[row];
    const long double difference = std::sqrt(prior) * (numbers(model.response)[row] - GetParam().mean(eta));
    sum += difference;
    square += difference * difference;
  }
  EXPECT_NEAR(alone.residual_sum, static_cast<double>(sum), 1e-11 * static_cast<double>(square));
  EXPECT_NEAR(alone.residual_square, static_cast<double>(square), 1e-11 * static_cast<double>(square));
}

TEST_P(RowsOfFamily, MomentsAreTheDenseOnes) {
  const Model model = make_model({.family = GetParam(), .seed = 4});
  rows_test::expect_near(RowLayout(model.design).moments(reduce(model, PassKind::moments)),
                         dense_sums(model, DenseStep::step), tolerance);
}

TEST_P(RowsOfFamily, OrderOfAdditionsIsThatOfRows) {
  const Model model = make_model({.family = GetParam(), .rows = 900, .seed = 5});
  const RawSums whole = sums_of(model, PassKind::step);
  rows_test::expect_same_bits(sums_of(model, PassKind::step, {1, 100, 355, 356, 800}), whole);
}

TEST_P(RowsOfFamily, BadRowIsCountedAndGivesNothingElse) {
  Model model = make_model({.family = GetParam(), .rows = 300, .seed = 6, .missing = false});
  Model without = make_model({.family = GetParam(), .rows = 300, .seed = 6, .missing = false});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  auto& columns = model.frame.variables;
  columns[static_cast<std::size_t>(model.response)].numbers.own()[7] = nan;
  columns[static_cast<std::size_t>(model.offsets[1])].numbers.own()[200] = -infinity;
  columns[0].numbers.own()[299] = infinity;
  for (const std::size_t row : {7U, 200U, 299U}) without.frame.complete.own()[row] = 0;
  EXPECT_EQ(RowLayout::deviance(reduce(model, PassKind::deviance)).bad_rows, 3);
  EXPECT_EQ(RowLayout::deviance(reduce(model, PassKind::deviance)).deviance,
            RowLayout::deviance(reduce(without, PassKind::deviance)).deviance);
  for (const PassKind kind : {PassKind::step, PassKind::start}) {
    RawSums bad = sums_of(model, kind);
    EXPECT_EQ(bad.bad_rows, 3);
    bad.bad_rows = 0;
    rows_test::expect_same_bits(bad, sums_of(without, kind));
  }
}

/// Compares with the definition, for a model with only an intercept, whose predictor is known.
TEST(Rows, LikelihoodIsThatOfTheRows) {
  Model model = make_model({.family = chosen_family("nb(theta=2.5)"), .rows = 900, .seed = 8, .terms = 1});
  const RowLayout layout(model.design, 1);
  const Rows rows = model.rows_of(model.frame);
  const auto reduced = [&](const Rows& of) {
    HostRows host(of, layout);
    std::vector<double> sums(layout.width(PassKind::parameters));
    host.add(PassKind::parameters, model.raw_coef, 0, model.frame.complete.size(), sums);
    return layout.likelihood(sums);
  };
  const auto numbers = [&](int variable) -> const ColumnNumbers& {
    return model.frame.variables[static_cast<std::size_t>(variable)].numbers;
  };
  std::array<double, 3> expected{};
  const double theta = 2.5;
  for (std::size_t row = 0; row < model.frame.complete.size(); ++row) {
    if (model.frame.complete[row] == 0) continue;
    double eta = model.raw_coef[0];
    for (const int offset : model.offsets) eta += numbers(offset)[row];
    std::array<double, 3> terms{};
    Nb(&theta).likelihood_terms(numbers(model.response)[row], std::exp(eta), terms.data());
    for (std::size_t k = 0; k < 3; ++k) expected[k] += numbers(model.prior_weight)[row] * terms[k];
  }
  const RawLikelihood likelihood = reduced(rows);
  EXPECT_NEAR(likelihood.minus_log, expected[0], 1e-13 * expected[0]);
  ASSERT_EQ(likelihood.gradient.size(), 1);
  EXPECT_NEAR(likelihood.gradient[0], expected[1], 1e-13 * expected[0]);
  EXPECT_NEAR(likelihood.hessian(0, 0), expected[2], 1e-13 * expected[0]);
  EXPECT_EQ(likelihood.bad_rows, 0);

  std::fill_n(model.frame.complete.own().begin(), 3, std::uint8_t{1});
  model.frame.variables[static_cast<std::size_t>(model.response)].numbers.own()[1] =
      std::numeric_limits<double>::infinity();
  EXPECT_GE(reduced(rows).bad_rows, 1);
  EXPECT_TRUE(std::isfinite(reduced(rows).minus_log));
}

INSTANTIATE_TEST_SUITE_P(AllFamilies, RowsOfFamily, ::testing::ValuesIn(rows_test::families()),
                         [](const auto& param) { return rows_test::name_of(param.param); });

TEST(Rows, NoCompleteRowGivesZeros) {
  Model model = make_model({.rows = 50});
  std::fill(model.frame.complete.own().begin(), model.frame.complete.own().end(), std::uint8_t{0});
  for (const double sum : reduce(model, PassKind::step)) EXPECT_EQ(sum, 0);
}

TEST(Rows, RepeatedFactorsAreKeptOnce) {
  const Model model = make_model({.rows = 1});
  const RowLayout layout(model.design);
  // Terms: 1 is f (5 levels), 3 is f:g (3 more), 8 is f by a spline of 9 raw columns.
  const auto sums_of_pair = [&](int row, int column) {
    for (const Product& product : layout.products(PassKind::step)) {
      if (product.row_term == row && product.column_term == column) return product.rows * product.columns;
    }
    return -1;
  };
  EXPECT_EQ(sums_of_pair(1, 1), 5);
  EXPECT_EQ(sums_of_pair(1, 3), 15);
  EXPECT_EQ(sums_of_pair(3, 3), 15);
  EXPECT_EQ(sums_of_pair(4, 8), 5 * 9 * 9);
  EXPECT_EQ(sums_of_pair(3, 8), 5 * 3 * 9);
}

TEST(Rows, ATermWithItselfIsABand) {
  const Model model = make_model({.rows = 1, .terms = 14});
  const RowLayout layout(model.design);
  // Splines by themselves, by a factor, by a number; then in pairs and triples, the slowest with four
  // nonzeros.
  const std::array widths{1, 1, 1, 1, 7, 7, 7, 4 * 7, 7, 7, 7, 1, 4 * 7, 4 * 7 * 7};
  for (const Product& product : layout.products(PassKind::step)) {
    if (product.row_term != product.column_term) continue;
    EXPECT_EQ(product.rows, model.design.terms[static_cast<std::size_t>(product.row_term)].raw_size);
    EXPECT_EQ(product.columns, widths[static_cast<std::size_t>(product.row_term)]) << product.row_term;
  }
}

TEST(Rows, PredictionIsTheDenseRowTimesTheMap) {
  Model model = make_model({.rows = 60, .missing = false});
  rows_test::add_blocks(model);
  std::vector<double> x(10);
  RowReader reader(model.frame, model.design);
  for (std::size_t row = 0; row < 60; ++row) {
    const auto dense = rows_test::dense_row(model, row);
    long double eta = 0;
    for (std::size_t i = 0; i < dense.size(); ++i) eta += dense[i] * model.raw_coef[i];
    EXPECT_NEAR(reader.linear_predictor(row, model.raw_coef), static_cast<double>(eta), 1e-13);
    reader.coefficient_row(row, x);
    for (const CoefBlock& block : model.design.blocks) {
      for (int j = 0; j < block.coef_size; ++j) {
        long double expected = 0;
        for (int i = 0; i < block.raw_size; ++i) {
          expected += dense[static_cast<std::size_t>(block.raw_begin) + static_cast<std::size_t>(i)] *
                      block.map(i, j);
        }
        ASSERT_NEAR(x[static_cast<std::size_t>(block.coef_begin) + static_cast<std::size_t>(j)],
                    static_cast<double>(expected), 1e-12);
      }
    }
  }
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

TEST(Rows, RegistersOfEveryWidthGiveTheSameBits) {
  for (const rows_test::ModelOptions& options :
       {rows_test::ModelOptions{.family = Poisson{}, .rows = 20'000},
        {.rows = 777, .terms = 14},
        {.family = Gamma{}, .rows = 1000, .dense = true, .curves = true}}) {
    const Model model = make_model(options);
    const std::vector<double> widest = reduce(model, PassKind::step);
    at_each_width([&] { EXPECT_TRUE(same_bits(reduce(model, PassKind::step), widest)); });
  }
}

TEST(Rows, TheFingerprintOfTheResponseIsTheSumThatModelsHave) {
  Model model = make_model({});
  std::vector<double>& response =
      model.frame.variables[static_cast<std::size_t>(model.response)].numbers.own();
  response[3] = -0.0;
  model.frame.complete.own()[5] = 0;
  std::uint64_t sum = 0;
  for (std::size_t row = 0; row < response.size(); ++row) {
    if (model.frame.complete[row] == 0) continue;
    const std::uint64_t number = base::split_mix(static_cast<std::uint64_t>(model.frame.rows.begin) + row);
    sum += base::split_mix(number ^ std::bit_cast<std::uint64_t>(response[row] + 0.0));
  }
  tessera::HostTeam team(2);
  const auto comm = tessera::mpi::Communicator::serial();
  const Workers workers{comm, team};
  at_each_width(
      [&] { EXPECT_EQ(response_fingerprint(workers, model.rows_of(model.frame)), base::hex(sum)); });
}

TEST(Rows, SeveralPointsHaveTheValuesOfEachAlone) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> x = {nan, -1e300, 1e300, -0.0, 0.3, 1, -7.25, 2.5, 1e-300};
  for (int i = 0; i < 240; ++i) x.push_back(-0.1 + 0.005 * i);
  std::vector<std::size_t> index(x.size());
  std::iota(index.begin(), index.end(), 0);
  for (const bool uniform : {true, false}) {
    for (const bool cyclic : {true, false}) {
      for (const bool dense : {true, false}) {
        Component component;
        component.kind = dense ? Component::Kind::dense : Component::Kind::spline;
        component.margin.uniform = uniform;
        component.margin.cyclic = cyclic;
        component.margin.breaks = {0, 0.25, 0.5, 0.75, 1};
        for (int cell = 0; cell < 4; ++cell) {
          auto& cubics = component.margin.cells.emplace_back();
          for (std::size_t k = 0; k < 16; ++k) cubics.at(k) = std::sin(cell + 3.0 * static_cast<double>(k));
        }
        component.combinations = Matrix(component.margin.raw_size(), 8);
        for (int i = 0; i < component.combinations.rows(); ++i)
          for (int j = 0; j < 8; ++j) component.combinations(i, j) = std::cos(i + 2.5 * j);
        ComponentTables tables;
        tables.add(component);
        tables.finish();
        const ComponentTable& table = tables.components[0];
        const int count = component.nonzeros();
        std::vector<double> expected(x.size() * static_cast<std::size_t>(count));
        std::vector<int> first(x.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
          double* values = expected.data() + i * static_cast<std::size_t>(count);
          if (dense) {
            dense_values(table, tables.numbers.data(), x[i], values);
          } else {
            const Located at = locate(table.margin, tables.numbers.data(), x[i]);
            first[i] = at.first;
            local_values(table.margin, tables.numbers.data(), at, values);
          }
        }
        const NumberView numbers = x.data();
        at_each_width([&] {
          PointEvaluator evaluator(tables, static_cast<int>(x.size()));
          std::vector<double> values(expected.size());
          evaluator.evaluate(0, 1, {&numbers, nullptr, index.data(), static_cast<int>(x.size())},
                             values.data(), [&](int /*component*/, const int* found) {
                               EXPECT_TRUE(std::equal(first.begin(), first.end(), found));
                             });
          EXPECT_TRUE(same_bits(values, expected)) << uniform << cyclic << dense;
        });
      }
    }
  }
}

TEST(Rows, PointsAmongManyUnevenCellsHaveTheValuesOfEachAlone) {
  std::vector<double> breaks = {-3, 1e6};
  for (int i = 0; i < 90; ++i) {
    breaks.push_back(0.01 * i * i);
    breaks.push_back(7 + 1e-13 * i);  // many breaks in one part of the range
  }
  std::ranges::sort(breaks);
  breaks.erase(std::unique(breaks.begin(), breaks.end()), breaks.end());
  std::vector<double> x = {std::numeric_limits<double>::quiet_NaN(), -1e300, 1e300, -0.0};
  for (const double one : breaks) {
    for (const double near : {-1e300, one, 1e300}) x.push_back(std::nextafter(one, near));
  }
  std::vector<std::size_t> index(x.size());
  std::iota(index.begin(), index.end(), 0);
  for (const std::size_t kept : {breaks.size(), std::size_t{70}}) {
    Component component;
    component.kind = Component::Kind::dense;
    component.margin.stride = 2;
    component.margin.breaks.assign(breaks.begin(), breaks.begin() + static_cast<std::ptrdiff_t>(kept));
    for (std::size_t cell = 0; cell + 1 < kept; ++cell) {
      auto& cubics = component.margin.cells.emplace_back();
      for (std::size_t k = 0; k < 16; ++k) cubics.at(k) = std::sin(static_cast<double>(cell + 3 * k));
    }
    component.combinations = Matrix(component.margin.raw_size(), 8);
    for (int i = 0; i < component.combinations.rows(); ++i)
      for (int j = 0; j < 8; ++j) component.combinations(i, j) = std::cos(i + 2.5 * j);
    ComponentTables tables;
    tables.add(component);
    tables.finish();
    ASSERT_GT(tables.components[0].margin.parts, 0);
    std::vector<double> expected(8 * x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      dense_values(tables.components[0], tables.numbers.data(), x[i], expected.data() + 8 * i);
    const NumberView numbers = x.data();
    at_each_width([&] {
      PointEvaluator evaluator(tables, static_cast<int>(x.size()));
      std::vector<double> values(expected.size());
      evaluator.evaluate(0, 1, {&numbers, nullptr, index.data(), static_cast<int>(x.size())}, values.data(),
                         [](int /*component*/, const int* /*first*/) {});
      EXPECT_TRUE(same_bits(values, expected)) << kept;
    });
  }
}

TEST(Rows, BreaksBelongToACellOnEitherSideOfThem) {
  // On a continuous margin any cell may take a break, so values there are exact.
  Margin margin;
  margin.uniform = true;
  margin.breaks = {0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7};
  margin.cells.assign(7, {1 / 6., -.5, .5, -1 / 6., 4 / 6., 0, -1, .5, 1 / 6., .5, .5, -.5, 0, 0, 0, 1 / 6.});
  Component component;
  component.kind = Component::Kind::spline;
  component.margin = margin;
  for (const bool equal : {true, false}) {
    component.margin.uniform = equal;
    Design design;
    design.raw_size = margin.raw_size();
    design.terms.push_back({{component}, 0, margin.raw_size(), 4});
    const RowLayout layout(design);
    for (std::size_t i = 0; i < margin.breaks.size(); ++i) {
      const MarginTable& table = layout.tables.components[0].margin;
      const Located at = locate(table, layout.tables.numbers.data(), margin.breaks[i]);
      std::array<double, 11> raw{};
      std::array<double, 4> local{};
      local_values(table, layout.tables.numbers.data(), at, local.data());
      for (std::size_t a = 0; a < 4; ++a) raw.at(static_cast<std::size_t>(at.first) + a) = local[a];
      EXPECT_NEAR(raw[i], 1 / 6., 1e-15);
      EXPECT_NEAR(raw[i + 1], 4 / 6., 1e-15);
      EXPECT_NEAR(raw[i + 2], 1 / 6., 1e-15);
    }
  }
}

}  // namespace
