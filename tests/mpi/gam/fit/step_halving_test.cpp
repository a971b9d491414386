// SPDX-License-Identifier: Apache-2.0
// Steps that overshoot are halved: counts that are zero except four make the first steps too long.
#include "gam/fit/pirls/step_halving.hpp"

#include "gam/linalg/linalg.hpp"
#include "support/fit_support.hpp"
#include "support/table_support.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tessera/tessera.hpp>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

struct Count {
  std::int64_t row;
  double y;
};

/// Fractional parts x of multiples of the golden ratio, and y = 0 except at `counts`.
Table sparse_counts(const Plan& plan, Range mine, const std::array<Count, 4>& counts) {
  std::vector<double> y;
  std::vector<double> x;
  for (std::int64_t row = mine.begin; row < mine.end; ++row) {
    x.push_back(std::fmod(static_cast<double>(row) * 0.6180339887498949, 1.0));
    y.push_back(0);
    for (const Count& count : counts) {
      if (count.row == row) y.back() = count.y;
    }
  }
  return {plan, {{"y", y}, {"x", x}}};
}

/// The deviance of y ~ s(x, bs = "ps", k = 10), poisson, after this many solutions.
double deviance_after(int iterations, const std::array<Count, 4>& counts) {
  Job job = testing::cpu_job(testing::world());
  const Plan plan = job.plan(100, 16);
  FitOptions options{.family = family("poisson"), .max_iterations = iterations};
  const FitResult result = fit(job, parse_formula("y ~ s(x, bs=\"ps\", k=10)"),
                               sparse_counts(plan, job.local_range(plan), counts), options);
  EXPECT_EQ(result.model.iterations(), iterations);
  return result.model.deviance();
}

// Deviances as printed by bam(method = "fREML", control = gam.control(epsilon = 1e-12, trace = TRUE)) of mgcv
// 1.8-41, whose first is that of the initial means. bam stops its search for smoothing parameters earlier, so
// both differ slightly once a step has been halved.
TEST(StepHalving, GoesWhereBamGoesAfterASolutionManyOrdersTooHigh) {
  const std::array<Count, 4> counts{{{58, 3}, {52, 500}, {5, 2}, {99, 40}}};
  EXPECT_NEAR(deviance_after(5, counts) / 1216.56297173868, 1, 1e-7);
  // The solution has 1.79e10.
  EXPECT_NEAR(deviance_after(6, counts) / 1145.82055180942, 1, 1e-5);
  EXPECT_NEAR(deviance_after(7, counts) / 947.520777705184, 1, 1e-4);
}

TEST(StepHalving, GoesWhereBamGoesAfterASolutionATenthTooHigh) {
  const std::array<Count, 4> counts{{{36, 3}, {33, 500}, {37, 2}, {48, 40}}};
  EXPECT_NEAR(deviance_after(5, counts) / 1980.65204639722, 1, 1e-7);
  // The solution has 2131.9.
  EXPECT_NEAR(deviance_after(6, counts) / 1895.48498027476, 1, 1e-5);
  EXPECT_NEAR(deviance_after(7, counts) / 1759.12190553857, 1, 1e-4);
}

TEST(StepHalving, ThePenaltyOnALineIsThatOfItsPoints) {
  Design design;
  const auto block = [&](int begin, const std::vector<Matrix>& penalties) {
    CoefBlock out;
    out.coef_begin = begin;
    out.coef_size = 2;
    if (!penalties.empty()) {
      out.penalty.emplace().matrices = penalties;
      out.penalty->set_ranks = penalties.size() == 2 ? std::vector{0, 2, 1, 2} : std::vector{0, 1};
    }
    design.blocks.push_back(out);
  };
  Matrix first(2, 2);
  first(0, 0) = 2;
  first(0, 1) = first(1, 0) = -1;
  first(1, 1) = 3;
  Matrix second(2, 2);
  second(1, 1) = 5;
  block(0, {});
  block(2, {first, second});
  block(4, {second});
  design.coef_size = 6;
  const std::vector<double> log_sp{std::log(2.0), std::log(3.0), std::log(7.0)};
  const std::vector<double> begin{9, 9, 1, 2, 3, 4};
  const std::vector<double> end{-9, 9, -2, 5, 1, -6};
  const auto penalty = [](const std::vector<double>& b) {
    return 2 * (2 * b[2] * b[2] - 2 * b[2] * b[3] + 3 * b[3] * b[3]) + 3 * 5 * b[3] * b[3] +
           7 * 5 * b[5] * b[5];
  };
  const PenaltyOnLine line = penalty_on_line(design, penalty_roots(design), log_sp, begin, end);
  for (const double t : {0.0, 0.25, 0.5, 1.0}) {
    std::vector<double> point;
    for (std::size_t i = 0; i < begin.size(); ++i) point.push_back((1 - t) * begin[i] + t * end[i]);
    EXPECT_NEAR(line.at(t), penalty(point), 1e-9) << t;
  }
}

/// Of a straight line, at a smoothing parameter near infinity.
TEST(StepHalving, ThePenaltyOfAnUnpenalisedFunctionIsNothing) {
  constexpr int size = 12;
  Matrix differences(size - 2, size);
  for (int i = 0; i < size - 2; ++i) {
    differences(i, i) = differences(i, i + 2) = 1;
    differences(i, i + 1) = -2;
  }
  Design design;
  CoefBlock& block = design.blocks.emplace_back();
  block.coef_size = design.coef_size = size;
  block.penalty.emplace().matrices = {multiply_tn(differences, differences)};
  block.penalty->set_ranks = {0, size - 2};
  std::vector<double> begin;
  std::vector<double> end;
  for (int i = 0; i < size; ++i) {
    begin.push_back(0.3 + 0.1 * i);
    end.push_back(-0.7 + 0.3 * i);
  }
  const PenaltyOnLine line = penalty_on_line(design, penalty_roots(design), {{40.0}}, begin, end);
  for (const double t : {0.0, 0.5, 1.0}) EXPECT_NEAR(line.at(t), 0, 1e-9);
}

TEST(StepHalving, ARiseIsMoreThanRounding) {
  EXPECT_TRUE(is_rise(100, 100.001));
  EXPECT_FALSE(is_rise(100, 100 * (1 + 1e-12)));
  EXPECT_FALSE(is_rise(100, 99));
  EXPECT_FALSE(is_rise(0, 1e-12));
  EXPECT_TRUE(is_rise(100, std::numeric_limits<double>::infinity()));
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
