// SPDX-License-Identifier: Apache-2.0
// Draws from the posterior distribution have its covariance.
#include "gam/linalg/linalg.hpp"
#include "gam/model/model.hpp"
#include "support/fit_support.hpp"
#include "support/reference_case.hpp"
#include "support/table_support.hpp"

#include <tessera/gam/posterior.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// A model that every rank has whole.
Model complete_model(const mpi::Communicator& comm, const char* folder) {
  const auto reference = testing::load_reference_case(folder);
  const FittedModel fitted =
      testing::fitted(comm, reference.formula, testing::in_blocks(reference.data_path, 64),
                      testing::options_of(reference), 2);
  const testing::SharedFile file(comm, "model.json");
  if (comm.rank() == 0) static_cast<void>(save_model(fitted, file.path(), 100'000));
  comm.barrier();
  return load_model(file.path());
}

class Draws : public ::testing::TestWithParam<const char*> {};

// With V = L L', z = L^-1 (draw - b) are independent standard normal numbers: the sums of z^2, and of the
// squares of the sample covariances of pairs of them, are chi-squared.
TEST_P(Draws, OfCoefficientsHaveTheirCovariance) {
  const auto comm = testing::world();
  const Model model = complete_model(comm, GetParam());
  const std::vector<double>& coef = model.fitted().coef;
  const auto p = static_cast<int>(coef.size());
  constexpr int draws = 6000;
  Job job = testing::cpu_job(comm, 2);
  const Predictions drawn = simulate_coefficients(job, model, {.draws = draws, .seed = 12});
  ASSERT_EQ(drawn.columns.size(), coef.size());
  const auto lower = cholesky(model.fitted().covariance.core);
  ASSERT_TRUE(lower.has_value());
  const auto mine = static_cast<int>(drawn.columns[0].values.size());
  Matrix deviations(p, mine);
  for (int i = 0; i < mine; ++i) {
    for (int j = 0; j < p; ++j) {
      const auto column = static_cast<std::size_t>(j);
      deviations(j, i) = drawn.columns[column].values[static_cast<std::size_t>(i)] - coef[column];
    }
  }
  const Matrix z = triangular_solve(*lower, deviations, false);
  Matrix products = multiply_nt(z, z);
  std::vector<double> means(coef.size());
  for (int i = 0; i < mine; ++i) add_multiple(std::span(means), 1.0 / draws, z.column(i));
  comm.allreduce(products.values(), mpi::Reduction::sum);
  comm.allreduce(std::span(means), mpi::Reduction::sum);
  double squares = 0;
  double pairs = 0;
  double of_means = 0;
  for (int j = 0; j < p; ++j) {
    squares += products(j, j);
    of_means += draws * means[static_cast<std::size_t>(j)] * means[static_cast<std::size_t>(j)];
    for (int i = 0; i < j; ++i) pairs += products(i, j) * products(i, j) / draws;
  }
  const auto expect_chi_squared = [](double found, double df) {
    EXPECT_LT(std::abs(found - df), 4 * std::sqrt(2 * df)) << found << " of " << df;
  };
  expect_chi_squared(squares, static_cast<double>(draws) * p);
  expect_chi_squared(pairs, p * (p - 1) / 2.0);
  expect_chi_squared(of_means, p);
}

/// The sum over ranks of their rows of some columns: complete columns on every rank.
std::vector<std::vector<double>> columns_of(const mpi::Communicator& comm, const Job& job,
                                            const Predictions& part) {
  const auto first = static_cast<std::size_t>(job.local_range(part.plan).begin);
  std::vector<std::vector<double>> columns;
  for (const Predictions::Column& column : part.columns) {
    std::vector<double>& whole = columns.emplace_back(static_cast<std::size_t>(part.table_rows));
    std::ranges::copy(column.values, whole.begin() + static_cast<std::ptrdiff_t>(first));
    comm.allreduce(std::span(whole), mpi::Reduction::sum);
  }
  return columns;
}

TEST_P(Draws, OfPredictorsAreThoseOfCoefficients) {
  const auto comm = testing::world();
  const Model model = complete_model(comm, GetParam());
  const Table table = testing::in_blocks(testing::load_reference_case(GetParam()).data_path, 64);
  Job job = testing::cpu_job(comm, 2);
  const auto predicted = [&](const PredictOptions& options) {
    return columns_of(comm, job, predict(job, model, table, options));
  };
  constexpr int draws = 5;
  const auto drawn = predicted({.draws = draws, .seed = 12});
  const auto estimated = predicted({});
  const auto rows = predicted({.type = PredictionType::lpmatrix});
  const auto coefs = columns_of(comm, job, simulate_coefficients(job, model, {.draws = draws, .seed = 12}));
  ASSERT_EQ(drawn.size(), static_cast<std::size_t>(draws));
  for (std::size_t draw = 0; draw < drawn.size(); ++draw) {
    for (std::size_t i = 0; i < estimated[0].size(); ++i) {
      double expected = estimated[0][i];  // with the offset
      for (std::size_t j = 0; j < coefs.size(); ++j)
        expected += rows[j][i] * (coefs[j][draw] - model.fitted().coef[j]);
      EXPECT_NEAR(drawn[draw][i], expected, 1e-10 * (1 + std::abs(expected)));
    }
  }
  EXPECT_NE(predicted({.draws = 1, .seed = 13})[0], drawn[0]);
}

// The law of total variance for the sum of many responses to the same row, where the variance of the mean
// dominates: E v(mu) + n Var(mu) for each.
TEST_P(Draws, OfResponsesHaveTheVarianceOfTheirMeansToo) {
  const auto comm = testing::world();
  const Model model = complete_model(comm, GetParam());
  const bool poisson = model.fitted().family.name() == "poisson";
  constexpr int copies = 400;
  std::string text = poisson ? "f,e,x,u\n" : "times\n";
  for (int i = 0; i < copies; ++i) text += poisson ? "\"c\",1.5,0.4,3\n" : "20\n";
  const testing::SharedFile file(comm, "rows.csv", text);
  const Table table = testing::in_blocks(file.path(), 64);
  Job job = testing::cpu_job(comm, 2);
  const auto link = columns_of(comm, job, predict(job, model, table, {.standard_errors = true}));
  const double predictor = link[0][0];
  const double square = link[1][0] * link[1][0];
  const double mean = poisson ? std::exp(predictor + square / 2) : predictor;
  const double of_mean = poisson ? std::expm1(square) * mean * mean : square;
  const double within = poisson ? mean : model.fitted().scale;
  constexpr int draws = 4000;
  for (const bool predictive : {true, false}) {
    std::vector<double> sums(draws);
    (void)simulate_responses(job, model, table,
                             [&](const Predictions& part) {
                               const auto columns = columns_of(comm, job, part);
                               for (std::size_t draw = 0; draw < sums.size(); ++draw) {
                                 for (const double one : columns[draw]) sums[draw] += one;
                               }
                             },
                             {.draws = draws, .seed = 7, .posterior_predictive = predictive});
    double centre = 0;
    for (const double sum : sums) centre += sum / draws;
    double variance = 0;
    for (const double sum : sums) variance += (sum - centre) * (sum - centre) / draws;
    const double expected = copies * (within + (predictive ? copies * of_mean : 0));
    if (predictive) {
      ASSERT_GT(copies * of_mean, within);
      EXPECT_NEAR(centre, copies * mean, 4 * std::sqrt(expected / draws));
    }
    EXPECT_NEAR(variance, expected, 5 * std::sqrt(2.0 / draws) * expected) << predictive;
  }
}

// Each table has its own plan, in blocks of other lengths.
TEST_P(Draws, OfTheirMeansDifferAlikeHoweverTheTablesAreHeld) {
  const auto comm = testing::world();
  const Model model = complete_model(comm, GetParam());
  const std::string path = testing::load_reference_case(GetParam()).data_path;
  const Formula formula = parse_formula(model.formula());
  Job job = testing::cpu_job(comm, 2);
  const Table file = testing::in_blocks(path, 64);
  const std::vector<Table> tables{file, read_table(job, testing::in_blocks(path, 7), formula),
                                  read_table(job, testing::in_blocks(path, 50), formula)};
  const auto predicted = columns_of(comm, job, predict(job, model, file, {}));
  for (const Table& minuend : tables) {
    for (const Table& subtrahend : tables) {
      const Predictions differences = table_differences(job, model, minuend, subtrahend, {});
      EXPECT_EQ(differences.plan.fingerprint(), predict(job, model, minuend, {}).plan.fingerprint());
      for (const auto& column : columns_of(comm, job, differences))
        EXPECT_EQ(column, std::vector<double>(predicted[0].size(), 0));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Draws, ::testing::Values("c01_mcycle_gauss", "m03_poisson_offset_cp"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
