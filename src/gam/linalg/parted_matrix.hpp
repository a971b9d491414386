// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/algebra.hpp"
#include "gam/linalg/matrix.hpp"

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace tessera::gam {

/// A run of rows and columns.
struct Part {
  int begin = 0;
  int size = 0;

  [[nodiscard]] bool has(int i) const noexcept { return i >= begin && i < begin + size; }
  /// The place of a row that is not of the part among those that are not.
  [[nodiscard]] int in_core(int i) const noexcept { return i < begin ? i : i - size; }
  friend bool operator==(const Part&, const Part&) = default;
};

/// A symmetric matrix of coefficients of which one diagonal block, the part, is kept by its diagonal alone.
/// Of X'WX the block of a random effect has nothing else, whose levels may be so many that no square of them
/// fits; and of its inverse nothing else is wanted. What is not of the part is the core.
///
///     PartedMatrix gram(100'006, {6, 100'000});
///     gram.set(6, 6, 12.0);      // of level 0
///     gram.set(6, 2, 3.5);       // and with a coefficient of the core
///
/// Without a part it is a dense matrix, which it can be made of.
class PartedMatrix {
 public:
  PartedMatrix() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a dense matrix is one without a part.
  PartedMatrix(Matrix whole) : core(std::move(whole)) {}
  /// Without what `whole` has off the diagonal of the part.
  PartedMatrix(const Matrix& whole, Part part);
  /// Zeros.
  PartedMatrix(int size, Part part)
      : core(size - part.size, size - part.size),
        border(part.size, part.size > 0 ? size - part.size : 0),
        diagonal(static_cast<std::size_t>(part.size)),
        begin_(part.begin) {}

  [[nodiscard]] int size() const noexcept { return core.rows() + static_cast<int>(diagonal.size()); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] bool is_parted() const noexcept { return !diagonal.empty(); }
  [[nodiscard]] Part part() const noexcept { return {begin_, static_cast<int>(diagonal.size())}; }
  [[nodiscard]] int in_core(int i) const noexcept { return part().in_core(i); }

  /// Off the diagonal of the part: zero.
  [[nodiscard]] double operator()(int i, int j) const noexcept;
  /// Element (i, j) and (j, i), which are not off the diagonal of the part.
  void set(int i, int j, double value) noexcept;
  /// A row that is of the core.
  [[nodiscard]] std::vector<double> row(int i) const;
  /// The block of some rows and columns of the core that follow one another.
  [[nodiscard]] Matrix block(int begin, int size) const;

  /// D A D, D the diagonal matrix of `factors`.
  void scale(std::span<const double> factors);
  /// T' A T, T the identity but for `u` on the coefficients of the core from `begin` on; empty: the identity.
  void turn(int begin, const Matrix& u, const Algebra& algebra);

  /// Calls `use(span)` for each of the arrays that it consists of.
  template <class Use>
  void for_each_array(const Use& use) {
    use(core.values());
    use(border.values());
    use(std::span<double>(diagonal));
  }
  template <class Use>
  void for_each_array(const Use& use) const {
    use(core.values());
    use(border.values());
    use(std::span<const double>(diagonal));
  }

  friend bool operator==(const PartedMatrix&, const PartedMatrix&) = default;

  Matrix core;
  Matrix border;                 ///< part x core
  std::vector<double> diagonal;  ///< of the part

 private:
  int begin_ = 0;
};

/// The same of a dense matrix.
void turn(Matrix& a, int begin, const Matrix& u, const Algebra& algebra);

/// a x.
[[nodiscard]] std::vector<double> multiply(const PartedMatrix& a, std::span<const double> x);

/// Without the elements of the part, and with them put back before those of the core that are behind them.
[[nodiscard]] std::vector<double> core_of(std::span<const double> x, Part part);
[[nodiscard]] std::vector<double> with_part(std::vector<double> core, std::span<const double> own, Part part);

}  // namespace tessera::gam
