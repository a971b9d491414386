// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/pirls/step_mixing.hpp"

#include "gam/linalg/linalg.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using Map = std::function<std::vector<double>(const std::vector<double>&)>;

/// F(b) = e + A (b - e) with the eigenvalues `rates` of A, in directions other than the coordinates; e = (1,
/// 1, ...).
Map towards_ones(const std::vector<double>& rates) {
  const int size = static_cast<int>(rates.size());
  Matrix mixing(size, size);
  for (std::size_t i = 0; i < mixing.values().size(); ++i)
    mixing.values()[i] = std::sin(2.7 * static_cast<double>(i * i) + 1);
  const Matrix q = full_q(mixing);
  return [rates, q](const std::vector<double>& b) {
    std::vector<double> off = b;
    for (double& v : off) v -= 1;
    std::vector<double> along = multiply_t(q, off);
    for (std::size_t i = 0; i < along.size(); ++i) along[i] *= rates[i];
    std::vector<double> out = multiply(q, along);
    for (double& v : out) v += 1;
    return out;
  };
}

Matrix weights(int size) {
  Matrix gram = identity(size);
  for (int i = 0; i < size; ++i) gram(i, i) = 1 + i;
  return gram;
}

PastStep step_of(const Map& map, const std::vector<double>& from) {
  PastStep step{from, map(from)};
  for (std::size_t i = 0; i < from.size(); ++i) step.step[i] -= from[i];
  return step;
}

/// Length of the remaining step after this many mixed steps from zero.
double left_after(int steps, const Map& map, int size) {
  const Matrix gram = weights(size);
  std::vector<double> at(static_cast<std::size_t>(size));
  std::vector<PastStep> past;
  for (int i = 0; i < steps; ++i) {
    const PastStep now = step_of(map, at);
    at = mixed_end(gram, now, past);
    past.push_back(now);
    if (past.size() > max_past_steps) past.erase(past.begin());
  }
  return length(gram, step_of(map, at).step);
}

TEST(StepMixing, EndsACycleThatWholeStepsWouldNotLeave) {
  const Map map = towards_ones({-1, 0.2});
  EXPECT_LT(left_after(8, map, 2), 1e-10);
}

TEST(StepMixing, EndsStepsThatGrowWhileTheyTurnBack) {
  EXPECT_LT(left_after(15, towards_ones({-1.4, -0.9, 0.3}), 3), 1e-9);
}

TEST(StepMixing, SettlesWhatCreepsAndTurnsBackAtOnce) {
  EXPECT_LT(left_after(20, towards_ones({0.98, -0.8, 0.1, 0.5}), 4), 1e-9);
}

TEST(StepMixing, FollowsStepsThatLeadAway) {
  const Matrix gram = identity(1);
  const PastStep last{{2}, {0.2}};  // from 0 on, F(b) = 1.1 b
  const PastStep now{{2.2}, {0.22}};
  const std::vector<PastStep> past{last};
  EXPECT_NEAR(mixed_end(gram, now, past)[0], 2.42, 1e-12);
}

TEST(StepMixing, GoesHalfWayWithoutAPast) {
  const PastStep now{{1, 2}, {4, -2}};
  EXPECT_EQ(mixed_end(identity(2), now, {}), (std::vector<double>{3, 1}));
}

TEST(StepMixing, GoesHalfWayWithoutAPastWhereRoundingHasLeftNoLength) {
  Matrix gram = weights(2);
  gram(1, 1) = -1e-9;  // for a crossproduct that has lost its digits
  EXPECT_EQ(mixed_end(gram, {{1, 1}, {0, 2}}, {}), (std::vector<double>{1, 2}));
  const std::vector<PastStep> short_one = {{{0, 0}, {0, 1e-3}}};
  EXPECT_EQ(mixed_end(gram, {{1, 1}, {1, 2}}, short_one), (std::vector<double>{1.5, 2}));
}

TEST(StepMixing, LeavesOutAPastThatForesawSomethingElse) {
  const PastStep now{{1, 2}, {40, -20}};
  const std::vector<PastStep> past{{{0, 0}, {1, 1}}};
  EXPECT_EQ(mixed_end(identity(2), now, past), (std::vector<double>{21, -8}));
}

TEST(StepMixing, StaysWhereNoStepIsLeft) {
  const PastStep now{{1, 2}, {0, 0}};
  const std::vector<PastStep> past{{{1, 2}, {0, 0}}, {{0, 0}, {0.5, 1}}};
  EXPECT_EQ(mixed_end(identity(2), now, past), now.coef);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
