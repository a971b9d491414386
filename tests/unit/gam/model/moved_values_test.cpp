// SPDX-License-Identifier: Apache-2.0
// The values of tessera::gam share their content, and a move is a copy: none is ever empty, except a Matrix.
// (A FitObserver has no data, an Output and a PredictionsFile do not move.) Inputs and results of fits
// consist of them.
#include "gam/family/family.hpp"
#include "gam/formula/formula.hpp"
#include "gam/report/reported_rows.hpp"
#include "support/mean_model.hpp"
#include "support/moved_from.hpp"
#include "support/on_cpu.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tessera/gam/gam.hpp>
#include <tessera/job/job.hpp>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using tessera::testing::expect_moves;
using tessera::testing::moved_out_of;

template <class Value, class Use>
void expect_unmoved(Value gone, const Value& other, Use expect_alive) {
  {
    const Value kept = moved_out_of(gone);
    expect_alive(kept);
  }
  expect_alive(gone);
  const Value copy = gone;
  expect_alive(copy);
  expect_moves(copy, other, [](const Value&) {});
}

TEST(MovedValues, Formula) {
  expect_unmoved(parse_formula("y ~ site + x"), parse_formula("y ~ 1"), [](const Formula& formula) {
    EXPECT_EQ(formula.text(), "y ~ site + x");
    EXPECT_EQ(formula.columns(), (std::vector<std::string>{"y", "site", "x"}));
    EXPECT_EQ(formula.terms().text, formula.text());
  });
}

TEST(MovedValues, FormulaError) {
  expect_unmoved(FormulaError({{4, "a number"}}), FormulaError({}), [](const FormulaError& refused) {
    EXPECT_STREQ(refused.what(), "formula, character 5: a number");
    ASSERT_EQ(refused.refusals().size(), 1U);
    EXPECT_EQ(refused.in_lines("y ~ 3"), "formula, character 5: a number\n  y ~ 3\n      ^");
  });
}

TEST(MovedValues, ResponseFamily) {
  expect_unmoved(family("poisson"), ResponseFamily(), [](const ResponseFamily& poisson) {
    EXPECT_EQ(poisson.name(), "poisson");
    EXPECT_EQ(poisson.file(), "");
    EXPECT_EQ(poisson.definition().name(), "poisson");
  });
}

TEST(MovedValues, ManyDesign) {
  mpi::Communicator comm = mpi::Communicator::serial();
  Job job(comm, on_cpu(1));
  std::vector<double> x;
  for (int i = 0; i < 30; ++i) x.push_back(i);
  const Table table(job.plan_for_hosts(30), {{"x", x}});
  expect_unmoved(ManyDesign("x", table), ManyDesign("1", table),
                 [](const ManyDesign& design) { EXPECT_EQ(design.rows(), 30); });
}

TEST(MovedValues, MatrixIsEmpty) {
  Matrix gone(2, 3);
  gone(1, 2) = 5;
  const Matrix whole = gone;
  const Matrix kept = moved_out_of(gone);
  EXPECT_EQ(kept, whole);
  EXPECT_EQ(gone, Matrix());
  expect_moves(whole, whole, [&](const Matrix& matrix) { EXPECT_EQ(matrix, whole); });
}

TEST(MovedValues, Model) {
  const auto mean = [](double value) {
    return Model(std::make_shared<const FittedModel>(testing::mean_of(value, 0.25)));
  };
  expect_unmoved(mean(2), mean(3), [](const Model& model) {
    EXPECT_EQ(model.formula(), "y ~ 1");
    EXPECT_EQ(model.rows(), model.fitted().rows);
    EXPECT_EQ(model.converged(), model.fitted().converged);
    EXPECT_EQ(model.no_estimate(), "");
    EXPECT_EQ(model.why_not_converged(), "");
    EXPECT_EQ(model.iterations(), model.fitted().iterations);
    EXPECT_EQ(model.verdict(), model.fitted().verdict);
    EXPECT_EQ(model.coefficient_names(), std::vector<std::string>{"(Intercept)"});
    ASSERT_EQ(model.coefficients().size(), 1U);
    EXPECT_EQ(model.coefficients()[0], 2);
    ASSERT_EQ(model.covariance().size(), 1U);
    EXPECT_EQ(model.covariance()[0], 0.25);
    EXPECT_EQ(model.covariance(0, 0), 0.25);
    EXPECT_EQ(model.scale(), model.fitted().scale);
    EXPECT_EQ(model.deviance(), model.fitted().deviance);
    EXPECT_EQ(model.edf(), model.fitted().edf_total);
  });
}

TEST(MovedValues, ReportRows) {
  const auto reported = std::make_shared<const ReportedRows>();
  expect_unmoved(ReportRows(reported), ReportRows(),
                 [&](const ReportRows& rows) { EXPECT_EQ(rows.rows(), reported.get()); });
}

TEST(MovedValues, OfAFit) {
  FitOptions options;
  options.family = family("poisson");
  const FitOptions other = moved_out_of(options);
  EXPECT_EQ(options.family.name(), other.family.name());
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
