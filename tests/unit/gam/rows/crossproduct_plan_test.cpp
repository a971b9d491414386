// SPDX-License-Identifier: Apache-2.0
// The products are divided among the warps of matrix units such that exactly one task computes each sum.
#include "gam/rows/crossproduct_plan.hpp"

#include "support/rows_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace {

using namespace tessera::gam;

Component spline_of(int variable, int cells, int stride) {
  Component component;
  component.kind = Component::Kind::spline;
  component.variable = variable;
  component.margin.stride = stride;
  component.margin.uniform = stride == 1;
  component.margin.cells.resize(static_cast<std::size_t>(cells));
  for (int i = 0; i <= cells; ++i) component.margin.breaks.push_back(i);
  return component;
}

/// An intercept and terms of one spline each.
Design terms_of(const std::vector<Component>& components) {
  Design design;
  const auto add = [&](RawTerm term, int columns) {
    term.raw_begin = design.raw_size;
    design.raw_size += columns;
    design.terms.push_back(std::move(term));
  };
  add({}, 1);
  for (const Component& component : components) {
    RawTerm term;
    term.components = {component};
    term.raw_size = component.raw_size();
    term.nonzeros = 4;
    add(term, component.raw_size());
  }
  return design;
}

/// Calls `use(sum)` for every sum that a task is to write.
template <class Use>
void for_each_sum_of(const CrossPlan& plan, const CrossShare& share, const CrossGroup& group,
                     const CrossTask& task, const Use& use) {
  if (task.kind == CrossTask::Kind::none) return;
  const CrossTerm* terms = share.terms.data() + group.term_begin;
  const CrossTerm& centre = terms[task.centre];
  EXPECT_TRUE(centre.centre);
  EXPECT_LE(centre.windows, cross_tiling(plan.quads).windows);
  if (task.has_leaves()) {
    for (int side = 0; side < 2; ++side) {
      const CrossTerm& leaf = terms[task.leaves[side]];
      EXPECT_LE(task.end_quad[side] - task.first_quad[side], cross_tiling(plan.quads).halves);
      for (int column = 0; column < centre.columns; ++column) {
        for (int other = task.first_quad[side] * quad_columns;
             other < std::min(task.end_quad[side] * quad_columns, leaf.columns); ++other)
          use(task.pairs[side].begin + column * task.pairs[side].centre_step +
              other * task.pairs[side].other_step);
      }
    }
  }
  if (task.has_own()) {
    for (int p = 0; p < centre.columns; ++p) {
      for (int q = p; q < std::min(p + 4, centre.columns); ++q)
        use(task.own.begin + p * task.own.centre_step + (q - p));
    }
  }
  if (task.has_dense()) {
    for (const CrossSums& sums : task.dense) {
      for (int column = 0; sums.begin >= 0 && column < centre.columns; ++column)
        use(sums.begin + column * sums.centre_step);
    }
  }
}

void expect_each_sum_once(const RowLayout& layout, const CrossPlan& plan, const CrossShare& share,
                          PassKind kind) {
  std::vector<int> written(layout.width(kind), 0);
  for (const CrossGroup& group : share.groups) {
    EXPECT_LE(group.term_count, plan.shape.terms);
    for (int warp = 0; warp < plan.shape.warps; ++warp) {
      const CrossTask& task =
          share.tasks.at(static_cast<std::size_t>(group.task_begin) + static_cast<std::size_t>(warp));
      for_each_sum_of(plan, share, group, task,
                      [&](std::int64_t sum) { ++written.at(static_cast<std::size_t>(sum)); });
    }
  }
  const std::span<const Product> products = layout.products(kind);
  for (std::size_t i = 0; i < products.size(); ++i) {
    const Product& product = products[i];
    for (int row = 0; row < product.rows; ++row) {
      for (int column = 0; column < product.columns; ++column) {
        // Products of a term with itself have only the sums above the diagonal.
        const int other = row + column - product.columns / 2;
        const bool read = !product.symmetric || (other >= row && other < product.rows);
        const std::int64_t sum = product.begin + row * std::int64_t{product.columns} + column;
        EXPECT_EQ(written[static_cast<std::size_t>(sum)], share.forms[i] && read ? 1 : 0)
            << "product " << i << " of terms " << product.row_term << " and " << product.column_term
            << ", row " << row << ", column " << column;
      }
    }
  }
}

void expect_each_sum_once(const Design& design) {
  const RowLayout layout(design);
  const CrossPlan plan(layout);
  ASSERT_FALSE(plan.empty());
  expect_each_sum_once(layout, plan, plan.sums, PassKind::step);
  expect_each_sum_once(layout, plan, plan.moments, PassKind::moments);
}

TEST(CrossPlan, FormsEachSumOnceForAnyNumberOfSplines) {
  for (int count = 2; count <= 26; ++count) {
    SCOPED_TRACE(count);
    std::vector<Component> components;
    for (int i = 0; i < count; ++i) components.push_back(spline_of(i, 17, 1));
    expect_each_sum_once(terms_of(components));
    if (HasFailure()) return;
  }
}

TEST(CrossPlan, FormsEachSumOnceForSplinesOfAnySize) {
  constexpr std::uint64_t seed = 5;
  std::mt19937_64 random(seed);
  const auto up_to = [&](int most) { return 1 + static_cast<int>(random() % static_cast<unsigned>(most)); };
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE(i);
    std::vector<Component> components;
    const int count = 1 + up_to(12);
    const int most = up_to(25);
    for (int j = 0; j < count; ++j)
      components.push_back(j % 3 == 2 ? spline_of(j, up_to((most + 1) / 2), 2)
                                      : spline_of(j, up_to(most), 1));
    expect_each_sum_once(terms_of(components));
    if (HasFailure()) return;
  }
}

TEST(CrossPlan, FitsIntoTheSharedMemoryOfItsDevices) {
  for (const int count : {2, 4, 10, 30, 80}) {
    std::vector<Component> components;
    for (int i = 0; i < count; ++i) components.push_back(spline_of(i, 17, 1));
    const CrossPlan plan(RowLayout(terms_of(components)));
    ASSERT_FALSE(plan.empty()) << count;
    EXPECT_LE(cross_shared_bytes(plan.shape, cross_tiling(plan.quads)), 227u * 1024) << count;
    EXPECT_GE(plan.shape.rows, 64) << count;
    EXPECT_LE(plan.shape.warps, 12) << count;
  }
}

TEST(CrossPlan, LeavesOneSplineAndWideOnesToTheOtherKernel) {
  EXPECT_TRUE(CrossPlan(RowLayout(terms_of({spline_of(0, 17, 1)}))).empty());
  EXPECT_TRUE(CrossPlan(RowLayout(terms_of({spline_of(0, 40, 1), spline_of(1, 40, 1), spline_of(2, 17, 1)})))
                  .empty());
  const CrossPlan plan(RowLayout(terms_of({spline_of(0, 17, 1), spline_of(1, 40, 1), spline_of(2, 17, 1)})));
  EXPECT_EQ(plan.sums.terms.size(), 2u);
}

TEST(CrossPlan, RunsWhereSixteenRowsOfDoublesAreMultiplied) {
  const CrossPlan plan(RowLayout(terms_of({spline_of(0, 17, 1), spline_of(1, 17, 1)})));
  EXPECT_TRUE(plan.runs_on({9, 0}));
  EXPECT_TRUE(plan.runs_on({10, 0}));
  EXPECT_FALSE(plan.runs_on({8, 0}));
  EXPECT_FALSE(plan.runs_on({12, 0}));
  EXPECT_FALSE(CrossPlan(RowLayout(terms_of({spline_of(0, 17, 1)}))).runs_on({9, 0}));
}

}  // namespace
