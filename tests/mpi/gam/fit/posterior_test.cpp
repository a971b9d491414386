// SPDX-License-Identifier: Apache-2.0
// Draws from the posterior distribution have its covariance.
#include "gam/linalg/linalg.hpp"
#include "gam/model/model.hpp"
#include "support/fit_support.hpp"
#include "support/reference_case.hpp"
#include "support/table_support.hpp"

#include <tessera/gam/posterior.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

namespace tessera::gam {
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

INSTANTIATE_TEST_SUITE_P(Cases, Draws, ::testing::Values("c01_mcycle_gauss", "m03_poisson_offset_cp"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace tessera::gam
