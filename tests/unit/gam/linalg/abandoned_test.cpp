// SPDX-License-Identifier: Apache-2.0
// Abandonable work has a cancellation point before and after each call of LAPACK.
#include "base/go_on.hpp"
#include "gam/linalg/linalg.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <stdexcept>
#include <string>

namespace TESSERA_NAMESPACE::gam {
namespace {

TEST(Abandoned, LapackAsksBeforeAndAfter) {
  Matrix a = identity(3);
  const Matrix b = identity(3);
  const std::map<std::string, std::function<void()>> calls{
      {"dsyevd", [&] { (void)symmetric_eigen(a); }},
      {"dgesvd, values", [&] { (void)singular_values(a); }},
      {"dgesvd", [&] { (void)right_singular(a); }},
      {"dgetrf", [&] { (void)log_abs_determinant(a); }},
      {"dpotrf", [&] { (void)cholesky(a); }},
      {"dpotrf of a block", [&] { (void)factor_block(a, 0, 3); }},
      {"dpotri", [&] { (void)cholesky_inverse(a); }},
      {"dgesv", [&] { (void)solve(a, b); }},
      {"dgeqrf, dorgqr", [&] { (void)full_q(a); }},
      {"dgeqrf, dormqr", [&] { (void)unexplained(Matrix(3, 1), b); }},
      {"dgeqrf", [&] { (void)triangle_of(a); }},
      {"dgeqp3", [&] { (void)pivoted_qr(a); }},
  };
  for (const auto& [name, call] : calls) {
    const bool has_two = name.find(", d") != std::string::npos;
    int asked = 0;
    const auto count = [&] { ++asked; };
    {
      const base::Abandonable pluralised(count);
      call();
    }
    EXPECT_EQ(asked, has_two ? 3 : 2) << name;
    int left = 1;  // checked before the first routine
    const auto check = [&] {
      if (left-- == 0) throw std::runtime_error("abandoned");
    };
    const base::Abandonable abandonable(check);
    EXPECT_THROW(call(), std::runtime_error) << name;
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
