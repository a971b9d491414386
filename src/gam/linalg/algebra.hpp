// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <tessera/gam/matrix.hpp>
#include <tessera/job/host_team.hpp>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

/// Products of large matrices for the search for smoothing parameters. Bits depend on the operands and the
/// kind of algebra, not on the number of threads.
class Algebra {
 public:
  virtual ~Algebra() = default;
  /// a b. Shapes must agree.
  [[nodiscard]] virtual Matrix multiply(const Matrix& a, const Matrix& b) const = 0;
  /// A cancellation point before other work of the size of a product: throws to abandon the fit, as
  /// `multiply` may.
  virtual void go_on() const {}
  /// Maximum number of computations that `for_each` runs concurrently.
  [[nodiscard]] virtual int at_once() const { return 1; }
  /// Calls `work(i, algebra)` for each i below `count`, several of them concurrently, each on one thread with
  /// its own algebra. If several throw, rethrows the exception of the smallest i.
  virtual void for_each(int count, const std::function<void(int i, const Algebra& algebra)>& work) const {
    for (int i = 0; i < count; ++i) work(i, *this);
  }
};

/// Host algebra on several threads, in blocks of a fixed number of columns.
class HostAlgebra final : public Algebra {
 public:
  /// `check` is called before each product, by any of the threads; its exceptions propagate.
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

/// Like the functions of the same names in linalg.hpp, for large matrices, on all threads of the algebra.
/// Bits depend only on the matrix.
[[nodiscard]] std::optional<Matrix> cholesky(Matrix a, const Algebra& algebra);
[[nodiscard]] Matrix cholesky_inverse(const Matrix& lower, const Algebra& algebra);
/// Copies the lower triangle of a symmetric matrix to the upper one.
void fill_upper(Matrix& a, const Algebra& algebra);
/// sum_{il} a(a_row + i, l) b(b_row + l, i), over all columns l of a and all columns i of b.
[[nodiscard]] double trace_of_product(const Matrix& a, int a_row, const Matrix& b, int b_row,
                                      const Algebra& algebra);

}  // namespace TESSERA_NAMESPACE::gam
