// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/matrix.hpp"

#include <functional>
#include <optional>
#include <tessera/job/host_team.hpp>
#include <utility>

namespace tessera::gam {

/// Who computes the products of large matrices that a fit's smoothing parameters need. Bits depend on the
/// operands and on the kind of the algebra alone, not on how many threads share the work.
class Algebra {
 public:
  virtual ~Algebra() = default;
  /// a b. Shapes must agree.
  [[nodiscard]] virtual Matrix multiply(const Matrix& a, const Matrix& b) const = 0;
  /// To be called before other work of the order of a product: throws where the fit is to be given up, as
  /// `multiply` does.
  virtual void go_on() const {}
  /// Computations that `for_each` makes at once.
  [[nodiscard]] virtual int at_once() const { return 1; }
  /// Calls `work(i, algebra)` for each i below `count`, several at a time, each on one thread. Each call has
  /// an algebra for itself; what the earliest that throws has thrown is rethrown.
  virtual void for_each(int count, const std::function<void(int i, const Algebra& algebra)>& work) const {
    for (int i = 0; i < count; ++i) work(i, *this);
  }
};

/// On some of the host's threads, in columns whose number is fixed.
class HostAlgebra final : public Algebra {
 public:
  /// `check` is called before each product, by any of the threads: what it throws leaves the algebra.
  explicit HostAlgebra(int threads = 1, std::function<void()> check = {})
      : team_(threads), check_(std::move(check)) {}
  [[nodiscard]] Matrix multiply(const Matrix& a, const Matrix& b) const override;
  void go_on() const override {
    if (check_) check_();
  }
  [[nodiscard]] int at_once() const override { return team_.size(); }
  void for_each(int count, const std::function<void(int i, const Algebra& algebra)>& work) const override;

 private:
  mutable HostTeam team_;
  std::function<void()> check_;
};

/// The functions of these names (linalg.hpp), of a large matrix by all threads of the algebra. Bits depend on
/// the matrix alone.
[[nodiscard]] std::optional<Matrix> cholesky(Matrix a, const Algebra& algebra);
[[nodiscard]] Matrix cholesky_inverse(const Matrix& lower, const Algebra& algebra);
/// Copies the lower triangle of a symmetric matrix to the upper one.
void fill_upper(Matrix& a, const Algebra& algebra);
/// sum_{il} a(a_row + i, l) b(b_row + l, i), over all columns l of a and i of b.
[[nodiscard]] double trace_of_product(const Matrix& a, int a_row, const Matrix& b, int b_row,
                                      const Algebra& algebra);

}  // namespace tessera::gam
