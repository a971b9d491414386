// SPDX-License-Identifier: Apache-2.0
// Unpenalised columns that depend on others are found and dropped.
#include "gam/design/determined_columns.hpp"

#include "gam/linalg/linalg.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

CoefBlock columns(const std::string& label, int size) {
  CoefBlock block;
  block.label = label;
  block.kind = "parametric";
  block.names = std::vector<std::string>(static_cast<std::size_t>(size), label);
  block.raw_size = block.coef_size = size;
  block.map = identity(size);
  return block;
}

/// 1, v and the three unpenalised columns of a surface, the first of which is v plus `apart` times a
/// function: of another variable, or in the span of the other two.
struct TrendSurface {
  TrendSurface(double apart, bool of_another) {
    for (int i = 0; i < x.rows(); ++i) {
      const double v = std::sin(1.7 * i);
      const double first = std::sin(0.7 * i + 1);
      const double second = std::cos(2.3 * i);
      x(i, 0) = 1;
      x(i, 1) = v;
      x(i, 2) = v + apart * (of_another ? std::sin(0.1 * i * i) : first + second) + 0.1;
      x(i, 3) = first + 0.5 * v + 0.2;
      x(i, 4) = second - 0.7 * v + 0.3;
    }
    design.blocks = {columns("(Intercept)", 1), columns("v", 1), columns("t2(u,v)", 3)};
    design.blocks[1].variables = {"v"};
    design.blocks.back().variables = {"u", "v"};
    design.blocks.back().kind = "t2";
    design.blocks.back().penalty.emplace().null_space = identity(3);
    design.count_coefficients();
    for (CoefBlock& block : design.blocks) block.raw_begin = block.coef_begin;
    design.raw_size = design.coef_size;
  }
  [[nodiscard]] std::vector<DeterminedColumn> determined() const {
    return determined_columns(multiply_tn(x, x), design, HostAlgebra());
  }
  Matrix x{500, 5};
  Design design;
};

TEST(DeterminedColumns, AreFoundBehindOneThatIsNearlyDetermined) {
  for (const double apart : {1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-7}) {
    SCOPED_TRACE(apart);
    const TrendSurface surface(apart, false);
    const std::vector<DeterminedColumn> found = surface.determined();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].block, 2);
    EXPECT_LT(largest(multiply(surface.x, found[0].combination)), 1e-12 * largest(found[0].combination));
    EXPECT_EQ(without_determined(surface.design, found).coef_size, 4);
  }
}

TEST(DeterminedColumns, AreNotThoseThatOthersDetermineNearly) {
  EXPECT_TRUE(TrendSurface(1e-2, true).determined().empty());
  EXPECT_TRUE(TrendSurface(1e-4, true).determined().empty());
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
