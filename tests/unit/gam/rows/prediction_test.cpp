// SPDX-License-Identifier: Apache-2.0
// The host's predictions, without a job, agree with dense rows, and have the same bits for any division.
#include "gam/rows/host_prediction.hpp"

#include "gam/rows/variance_form.hpp"
#include "support/each_width.hpp"
#include "support/rows_model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace {

using rows_test::Model;
using namespace tessera::gam;

/// Predictions for all rows, in blocks that end at `cuts`.
std::vector<Prediction> predict(const Model& model, const Posterior& posterior,
                                const std::vector<std::size_t>& cuts = {}) {
  const RowLayout layout(model.design);
  const Rows rows = model.rows_of(model.frame);
  const std::vector<double> raw_coef = model.design.raw_coefficients(posterior.coef);
  std::vector<double> form;
  if (!posterior.covariance.empty()) form = variance_form(model.design, layout, posterior.covariance);
  const HostPrediction host(rows, layout, raw_coef, form, posterior);
  std::vector<Prediction> out(model.frame.complete.size());
  std::size_t begin = 0;
  const auto predict_to = [&](std::size_t end) {
    host.predict(begin, end, std::span(out).subspan(begin, end - begin));
    begin = end;
  };
  for (const std::size_t cut : cuts) predict_to(cut);
  predict_to(out.size());
  return out;
}

/// Predicts by definition: x = M'r, then x'b and x'Vx, in long double.
Prediction dense_prediction(const Model& model, std::size_t row, const Posterior& posterior) {
  const std::vector<long double> raw = rows_test::dense_row(model, row);
  std::vector<long double> x(posterior.coef.size());
  for (const CoefBlock& block : model.design.blocks) {
    for (int j = 0; j < block.coef_size; ++j) {
      for (int i = 0; i < block.raw_size; ++i)
        x[static_cast<std::size_t>(block.coef_begin) + static_cast<std::size_t>(j)] +=
            raw[static_cast<std::size_t>(block.raw_begin) + static_cast<std::size_t>(i)] * block.map(i, j);
    }
  }
  long double eta = 0;
  long double variance = 0;
  for (const int offset : model.offsets)
    eta += model.frame.variables[static_cast<std::size_t>(offset)].numbers[row];
  for (std::size_t i = 0; i < x.size(); ++i) {
    eta += x[i] * posterior.coef[i];
    for (std::size_t j = 0; j < x.size(); ++j)
      variance += x[i] * x[j] * posterior.covariance(static_cast<int>(i), static_cast<int>(j));
  }
  const auto fit = static_cast<double>(eta);
  const double se = std::sqrt(static_cast<double>(variance));
  if (!posterior.response) return {fit, se};
  return {model.family.mean(fit), se * std::abs(model.family.derivative(fit))};
}

void expect_dense(const Model& model, const Posterior& posterior) {
  const std::vector<Prediction> predictions = predict(model, posterior);
  for (std::size_t row = 0; row < predictions.size(); ++row) {
    if (model.frame.complete[row] == 0) {
      EXPECT_TRUE(std::isnan(predictions[row].fit) && std::isnan(predictions[row].se)) << row;
      continue;
    }
    const Prediction expected = dense_prediction(model, row, posterior);
    EXPECT_NEAR(predictions[row].fit, expected.fit, 1e-12 * (1 + std::abs(expected.fit))) << row;
    EXPECT_NEAR(predictions[row].se, expected.se, 1e-12 * expected.se) << row;
  }
}

class PredictionOfFamily : public ::testing::TestWithParam<Family> {};

TEST_P(PredictionOfFamily, IsTheDenseRowsOnEitherScale) {
  Model model = rows_test::make_model({.family = GetParam(), .rows = 300, .seed = 31});
  rows_test::add_blocks(model);
  for (const bool response : {false, true}) expect_dense(model, posterior_of(model, response));
}

INSTANTIATE_TEST_SUITE_P(AllFamilies, PredictionOfFamily, ::testing::ValuesIn(rows_test::families()),
                         [](const auto& param) { return rows_test::name_of(param.param); });

TEST(Prediction, OfATermOfThreeSplinesIsTheDenseRows) {
  Model model = rows_test::make_model({.rows = 80, .seed = 32, .terms = 14});
  rows_test::add_blocks(model);
  expect_dense(model, posterior_of(model, false));
}

TEST(Prediction, HasTheSameBitsWhereverRowsAreCutAndInRegistersOfAnyWidth) {
  Model model = rows_test::make_model({.rows = 700, .seed = 33});
  rows_test::add_blocks(model);
  const Posterior posterior = posterior_of(model, true);
  const std::vector<Prediction> whole = predict(model, posterior);
  rows_test::at_each_width([&] {
    const std::vector<Prediction> cut = predict(model, posterior, {1, 2, 255, 300, 699});
    for (std::size_t row = 0; row < whole.size(); ++row) {
      if (model.frame.complete[row] == 0) continue;
      EXPECT_EQ(cut[row].fit, whole[row].fit) << row;
      EXPECT_EQ(cut[row].se, whole[row].se) << row;
    }
  });
}

/// A level without a column, such as an unseen one of a random effect, contributes nothing to its rows.
TEST(Prediction, OfALevelThatTheModelLacksIsWithoutItsTerms) {
  Model model = rows_test::make_model({.rows = 40, .seed = 34, .offsets = false, .missing = false});
  rows_test::add_blocks(model);
  const Posterior posterior = posterior_of(model, false);
  Model without = model;
  int factor = -1;
  for (const RawTerm& term : model.design.terms) {
    for (const Component& component : term.components) {
      if (component.kind == Component::Kind::factor && factor < 0) factor = component.variable;
    }
  }
  ASSERT_GE(factor, 0);
  for (std::int32_t& code : without.frame.variables[static_cast<std::size_t>(factor)].codes.own()) code = -1;
  // Raw columns of terms with that factor, removed from the maps, contribute nothing to rows with that level.
  for (const RawTerm& term : model.design.terms) {
    bool has = false;
    for (const Component& component : term.components)
      has = has || (component.kind == Component::Kind::factor && component.variable == factor);
    for (int raw = term.raw_begin; has && raw < term.raw_begin + term.raw_size; ++raw) {
      for (CoefBlock& block : model.design.blocks) {
        if (raw < block.raw_begin || raw >= block.raw_begin + block.raw_size) continue;
        for (int j = 0; j < block.coef_size; ++j) block.map(raw - block.raw_begin, j) = 0;
      }
    }
  }
  const std::vector<Prediction> lacking = predict(without, posterior);
  const std::vector<Prediction> expected = predict(model, posterior);
  for (std::size_t row = 0; row < lacking.size(); ++row) {
    EXPECT_NEAR(lacking[row].fit, expected[row].fit, 1e-13) << row;
    EXPECT_NEAR(lacking[row].se, expected[row].se, 1e-13) << row;
  }
}

/// A block for each term, and for each level if the first component is a factor.
void add_terms(Model& model) {
  constexpr int size = 3;
  Design& design = model.design;
  for (const RawTerm& term : design.terms) {
    const bool by_levels = term.components.size() > 1 && term.components[0].kind == Component::Kind::factor;
    const int blocks = by_levels ? term.components[0].levels : 1;
    for (int level = 0; level < blocks; ++level) {
      CoefBlock block;
      block.raw_size = term.raw_size / blocks;
      block.raw_begin = term.raw_begin + level * block.raw_size;
      block.coef_begin = design.coef_size;
      block.coef_size = size;
      block.map = Matrix(block.raw_size, size);
      for (std::size_t i = 0; i < block.map.values().size(); ++i)
        block.map.values()[i] = std::sin(static_cast<double>(i + 1) + block.raw_begin);
      design.coef_size += size;
      design.blocks.push_back(std::move(block));
    }
  }
}

/// Each block by itself is a term: its fit and its variance are those with all other coefficients zero.
TEST(Prediction, OfTermsIsTheDenseRowsOfTheirBlocks) {
  Model model = rows_test::make_model({.rows = 300, .seed = 36});
  add_terms(model);
  Posterior posterior = posterior_of(model, false);
  posterior.terms.count = static_cast<int>(model.design.blocks.size());
  posterior.terms.of_raw.assign(static_cast<std::size_t>(model.design.raw_size), -1);
  posterior.terms.slopes.resize(posterior.terms.of_raw.size());
  for (int term = 0; term < posterior.terms.count; ++term) {
    const CoefBlock& block = model.design.blocks[static_cast<std::size_t>(term)];
    for (int raw = block.raw_begin; raw < block.raw_begin + block.raw_size; ++raw) {
      posterior.terms.of_raw[static_cast<std::size_t>(raw)] = term;
      posterior.terms.slopes[static_cast<std::size_t>(raw)] = 1e-3 * (raw % 3);
    }
    posterior.terms.constants.push_back(1 + 0.1 * term);
  }
  const std::size_t columns = model.design.blocks.size();
  const RowLayout layout(model.design);
  const Rows rows = model.rows_of(model.frame);
  const std::vector<double> raw_coef = model.design.raw_coefficients(posterior.coef);
  const std::vector<double> form = variance_form(model.design, layout, posterior.covariance);
  std::vector<Prediction> found(model.frame.complete.size() * columns);
  HostPrediction(rows, layout, raw_coef, form, posterior).predict(0, model.frame.complete.size(), found);
  for (std::size_t term = 0; term < columns; ++term) {
    const CoefBlock& block = model.design.blocks[term];
    Posterior own = posterior;
    Model alone = model;
    alone.offsets.clear();
    for (int i = 0; i < model.design.coef_size; ++i) {
      const auto is_own = [&](int j) {
        return j >= block.coef_begin && j < block.coef_begin + block.coef_size;
      };
      if (!is_own(i)) own.coef[static_cast<std::size_t>(i)] = 0;
      for (int j = 0; j < model.design.coef_size; ++j) {
        if (!(is_own(i) && is_own(j))) own.covariance.core(i, j) = 0;
      }
    }
    for (std::size_t row = 0; row < model.frame.complete.size(); ++row) {
      if (model.frame.complete[row] == 0) continue;
      const std::vector<long double> raw = rows_test::dense_row(model, row);
      long double more = posterior.terms.constants[term];
      for (int i = block.raw_begin; i < block.raw_begin + block.raw_size; ++i)
        more += raw[static_cast<std::size_t>(i)] * posterior.terms.slopes[static_cast<std::size_t>(i)];
      const Prediction expected = dense_prediction(alone, row, own);
      const Prediction& one = found[row * columns + term];
      EXPECT_NEAR(one.fit, expected.fit, 1e-12 * (1 + std::abs(expected.fit))) << row << " " << block.label;
      EXPECT_NEAR(one.se * one.se, expected.se * expected.se + static_cast<double>(more), 1e-11) << row;
    }
  }
}

/// Rows of the model matrix times the coefficients are the predictors.
TEST(Prediction, IsTheModelMatrixTimesTheCoefficients) {
  Model model = rows_test::make_model({.rows = 300, .seed = 37, .offsets = false});
  add_terms(model);
  const Posterior posterior = posterior_of(model, false);
  const RowLayout layout(model.design);
  const Rows rows = model.rows_of(model.frame);
  const std::size_t columns = posterior.coef.size();
  std::vector<double> matrix(model.frame.complete.size() * columns);
  HostDesignRows(rows, layout).evaluate(0, model.frame.complete.size(), matrix);
  const std::vector<Prediction> expected = predict(model, posterior);
  for (std::size_t row = 0; row < expected.size(); ++row) {
    if (model.frame.complete[row] == 0) continue;
    double sum = 0;
    for (std::size_t j = 0; j < columns; ++j) sum += matrix[row * columns + j] * posterior.coef[j];
    EXPECT_NEAR(sum, expected[row].fit, 1e-12 * (1 + std::abs(sum))) << row;
  }
}

/// A variance of zero may be negative by rounding.
TEST(Prediction, OfANegativeVarianceHasNoError) {
  Model model = rows_test::make_model({.rows = 200, .seed = 35, .missing = false});
  rows_test::add_blocks(model);
  Posterior posterior = posterior_of(model, false);
  for (double& value : posterior.covariance.core.values()) value *= -1e-18;
  for (const Prediction& prediction : predict(model, posterior)) EXPECT_EQ(prediction.se, 0);
}

TEST(Prediction, WithoutACovarianceHasNoStandardErrors) {
  Model model = rows_test::make_model({.rows = 30, .seed = 36, .missing = false});
  rows_test::add_blocks(model);
  Posterior posterior = posterior_of(model, false);
  const std::vector<Prediction> with = predict(model, posterior);
  posterior.covariance = Matrix();
  const std::vector<Prediction> alone = predict(model, posterior);
  for (std::size_t row = 0; row < alone.size(); ++row) {
    EXPECT_EQ(alone[row].fit, with[row].fit);
    EXPECT_TRUE(std::isnan(alone[row].se));
  }
}

}  // namespace
