// SPDX-License-Identifier: Apache-2.0
// Kernels store what other kernels read, and nothing else.
#include "gam/rows/stored_values.hpp"

#include "gam/rows/rows_view.hpp"

#include "support/rows_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace {

using namespace tessera::gam;

void expect_stored(const RowLayout& layout, const CrossPlan* cross, PassKind kind) {
  const StoredValues stored = values_of_pass(layout, kind, cross);
  const std::span<const Product> products = layout.products(kind);
  std::vector<int> users(static_cast<std::size_t>(stored.per_row));
  for (std::size_t t = 0; t < layout.terms.size(); ++t) {
    const TermTable& term = layout.terms[t];
    const auto index = static_cast<int>(t);
    bool read = t + 1 == layout.terms.size() && !products.empty();
    for (std::size_t i = 0; i < products.size(); ++i)
      read = read || ((cross == nullptr || !cross->share(kind).forms[i]) &&
                      (products[i].row_term == index || products[i].column_term == index));
    if (cross != nullptr && kind == PassKind::step && term.component_begin < term.component_end)
      read = read || std::ranges::find(cross->dense_terms, index) != cross->dense_terms.end();
    EXPECT_EQ(stored.value_begins[t] >= 0, read) << t;
    for (int k = 0; read && k < term.nonzeros; ++k)
      ++users.at(static_cast<std::size_t>(stored.value_begins[t] + k));
    for (int c = term.component_begin; c < term.component_end; ++c) {
      const ComponentTable& component = layout.tables.components[static_cast<std::size_t>(c)];
      const std::int64_t begin = stored.dense_begins[static_cast<std::size_t>(c)];
      EXPECT_EQ(begin >= 0, component.kind == ComponentKind::dense && (read || !is_dense_alone(term)));
      if (begin < 0 || begin == stored.value_begins[t]) continue;
      for (int k = 0; k < component.columns; ++k) ++users.at(static_cast<std::size_t>(begin + k));
    }
  }
  for (const int count : users) EXPECT_EQ(count, 1);
}

TEST(StoredValues, AreThoseThatKernelsRead) {
  for (const bool curves : {false, true}) {
    const rows_test::Model model = rows_test::make_model({.curves = curves});
    const RowLayout layout(model.design);
    const CrossPlan plan(layout);
    ASSERT_FALSE(plan.empty());
    for (const PassKind kind : {PassKind::moments, PassKind::step, PassKind::deviance}) {
      SCOPED_TRACE(static_cast<int>(kind));
      expect_stored(layout, nullptr, kind);
      expect_stored(layout, &plan, kind);
    }
  }
}

/// The intercept, a number and the residual.
TEST(StoredValues, AreFewForSplinesOnMatrixUnits) {
  const rows_test::Model model = rows_test::make_splines({}, 4);
  const RowLayout layout(model.design);
  const CrossPlan plan(layout);
  EXPECT_EQ(values_of_pass(layout, PassKind::step, &plan).per_row, 3);
  EXPECT_EQ(values_of_pass(layout, PassKind::deviance, &plan).per_row, 0);
}

}  // namespace
