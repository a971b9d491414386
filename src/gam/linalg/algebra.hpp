// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <tessera/gam/matrix.hpp>
#include <tessera/job/host_team.hpp>
#include <utility>

namespace TESSERA_NAMESPACE::gam {

/// Parallel products of large matrices. The number of threads does not affect rounding.
class Algebra {
 public:
  virtual ~Algebra() = default;
  /// The product a b; requires a.cols() == b.rows().
  [[nodiscard]] virtual Matrix multiply(const Matrix& a, const Matrix& b) const = 0;
  /// Cancellation point for other long work: throws if the fit is cancelled, as `multiply` does.
  virtual void check_cancelled() const {}
  /// Maximum number of computations that `for_each` runs concurrently.
  [[nodiscard]] virtual int at_once() const { return 1; }
  /// Calls `work(i, algebra)` for each i in [0, count), possibly concurrently, each call on one thread with
  /// its own algebra. If several calls throw, rethrows the exception of the smallest i.
  virtual void for_each(int count, const std::function<void(int i, const Algebra& algebra)>& work) const {
    for (int i = 0; i < count; ++i) work(i, *this);
  }
};

/// CPU implementation on a team of threads.
class HostAlgebra final : public Algebra {
 public:
  /// `check` is called before each product, by any of the threads; its exceptions propagate.
  explicit HostAlgebra(int threads = 1, std::function<void()> check = {})
      : team_(threads), check_(std::move(check)) {}
  [[nodiscard]] Matrix multiply(const Matrix& a, const Matrix& b) const override;
  void check_cancelled() const override {
    if (check_) check_();
  }
  [[nodiscard]] int at_once() const override { return team_.size(); }
  void for_each(int count, const std::function<void(int i, const Algebra& algebra)>& work) const override;

 private:
  mutable HostTeam team_;
  std::function<void()> check_;
};

/// Multithreaded versions of linalg.hpp's functions for large matrices, with the same contracts.
[[nodiscard]] std::optional<Matrix> cholesky(Matrix a, const Algebra& algebra);
[[nodiscard]] Matrix cholesky_inverse(const Matrix& lower, const Algebra& algebra);
/// Copies the lower triangle of a symmetric matrix to the upper one.
void fill_upper(Matrix& a, const Algebra& algebra);
/// tr(A B): A is the b.cols() rows of `a` from a_row on, and B the a.cols() rows of `b` from b_row on.
[[nodiscard]] double trace_of_product(const Matrix& a, int a_row, const Matrix& b, int b_row,
                                      const Algebra& algebra);

}  // namespace TESSERA_NAMESPACE::gam
