// SPDX-License-Identifier: Apache-2.0
// Linear algebra has cancellation points.
#include "base/cancellation.hpp"
#include "gam/linalg/linalg.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <stdexcept>
#include <string>

namespace TESSERA_NAMESPACE::gam {
namespace {

TEST(Cancelled, LinearAlgebraAsksBeforeLongWork) {
  Matrix a = identity(3);
  const Matrix b = identity(3);
  const std::map<std::string, std::function<void()>> calls{
      {"symmetric_eigen", [&] { (void)symmetric_eigen(a); }},
      {"singular_values", [&] { (void)singular_values(a); }},
      {"right_singular", [&] { (void)right_singular(a); }},
      {"log_abs_determinant", [&] { (void)log_abs_determinant(a); }},
      {"multiply", [&] { (void)multiply(a, b); }},
      {"cholesky", [&] { (void)cholesky(a); }},
      {"factor_block", [&] { (void)factor_block(a, 0, 3); }},
      {"cholesky_inverse", [&] { (void)cholesky_inverse(a); }},
      {"triangular_solve", [&] { (void)triangular_solve(a, b, false); }},
      {"solve", [&] { (void)solve(a, b); }},
      {"full_q", [&] { (void)full_q(a); }},
      {"unexplained", [&] { (void)unexplained(Matrix(3, 1), b); }},
      {"triangle_of", [&] { (void)triangle_of(a); }},
      {"pivoted_qr", [&] { (void)pivoted_qr(a); }},
  };
  for (const auto& [name, call] : calls) {
    const auto abandon = [] { throw std::runtime_error("abandoned"); };
    const base::CancellationScope cancellation(abandon);
    EXPECT_THROW(call(), std::runtime_error) << name;
  }
}

/// Within a factorisation of seconds.
TEST(Cancelled, LinearAlgebraAsksDuringLongWork) {
  const Matrix a = identity(200);
  int asked = 0;
  const auto count = [&] { ++asked; };
  const base::CancellationScope counted(count);
  (void)cholesky(a);
  EXPECT_GT(asked, 10);
  asked = 0;
  (void)multiply(a, Matrix(200, 1100));
  EXPECT_EQ(asked, 3);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
