// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/algebra.hpp"

#include <tessera/gam/matrix.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Divides the rows of a symmetric matrix into the part, a set of ascending runs of rows (in a fit, the large
/// random effects, which are eliminated), and the core, all other rows.
class Part {
 public:
  struct Run {
    int begin = 0;
    int size = 0;

    [[nodiscard]] bool has(int i) const noexcept { return i >= begin && i < begin + size; }
    friend bool operator==(const Run&, const Run&) = default;
  };

  Part() = default;
  Part(int begin, int size) { add(begin, size); }
  void add(int begin, int size) {
    if (size > 0) runs_.push_back({begin, size});
  }

  [[nodiscard]] const std::vector<Run>& runs() const noexcept { return runs_; }
  [[nodiscard]] int size() const noexcept;
  [[nodiscard]] bool has(int i) const noexcept { return run_of(i) >= 0; }
  /// Index of the run that contains row i; -1 if i is in the core.
  [[nodiscard]] int run_of(int i) const noexcept;
  /// Index of a core row within the core, and of a part row within the part.
  [[nodiscard]] int in_core(int i) const noexcept;
  [[nodiscard]] int in_part(int i) const noexcept;
  [[nodiscard]] int row_at(int place) const noexcept;
  /// Index within the part of a run's first row.
  [[nodiscard]] int begin_of(std::size_t run) const noexcept;
  friend bool operator==(const Part&, const Part&) = default;

 private:
  std::vector<Run> runs_;
};

/// Compressed sparse columns of a symmetric matrix below its diagonal; rows ascend.
struct SparsePattern {
  std::vector<std::int64_t> begins{0};  ///< offset in `rows` of each column, and the total
  std::vector<int> rows;

  [[nodiscard]] int columns() const noexcept { return static_cast<int>(begins.size()) - 1; }
  [[nodiscard]] std::span<const int> rows_of(int column) const noexcept;
  /// Index in `rows` of element (row, column), row > column; -1 if it is not in the pattern.
  [[nodiscard]] std::int64_t find(int row, int column) const noexcept;
  friend bool operator==(const SparsePattern&, const SparsePattern&) = default;
};

/// A symmetric matrix with a sparse diagonal block, the part. In X'WX the part has the random effects with
/// too many levels for dense storage. The block of one random effect is diagonal; between two effects, the
/// elements of levels that occur together in the data are stored. An inverse is stored in the same pattern.
///
///     PartedMatrix gram(100'006, Part(6, 100'000));
///     gram.set(6, 6, 12.0);      // diagonal element of level 0
///     gram.set(6, 2, 3.5);       // level 0 and core coefficient 2
///
/// Without a part, the matrix is dense.
class PartedMatrix {
 public:
  PartedMatrix() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a dense matrix is a matrix without a part.
  PartedMatrix(Matrix whole) : core(std::move(whole)) {}
  /// Copies `whole`, except off-diagonal elements of the part.
  PartedMatrix(const Matrix& whole, const Part& part);
  /// A matrix of zeros. `pattern`: off-diagonal elements of the part, by index in the part; null: none.
  PartedMatrix(int size, Part part, std::shared_ptr<const SparsePattern> pattern = {});

  [[nodiscard]] int size() const noexcept { return core.rows() + static_cast<int>(diagonal.size()); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] bool is_parted() const noexcept { return !diagonal.empty(); }
  [[nodiscard]] const Part& part() const noexcept { return part_; }
  /// Null if the part is diagonal.
  [[nodiscard]] const std::shared_ptr<const SparsePattern>& pattern() const noexcept { return pattern_; }
  [[nodiscard]] int in_core(int i) const noexcept { return part_.in_core(i); }
  /// Whether element (i, j) is stored.
  [[nodiscard]] bool has(int i, int j) const noexcept;

  /// Zero for an element that is not stored.
  [[nodiscard]] double operator()(int i, int j) const noexcept;
  /// Sets elements (i, j) and (j, i), which must be stored.
  void set(int i, int j, double value) noexcept;
  /// A row of the matrix; requires a row of the core.
  [[nodiscard]] std::vector<double> row(int i) const;
  /// A contiguous diagonal block of the core.
  [[nodiscard]] Matrix block(int begin, int size) const;

  /// A = D A D, where D = diag(factors).
  void scale(std::span<const double> factors);
  /// A = T' A T. T is `u` on the core from `begin` on, and the identity elsewhere. No-op if `u` is empty.
  void change_basis(int begin, const Matrix& u, const Algebra& algebra);

  /// Calls `use(span)` for each array of values.
  template <class Use>
  void for_each_array(const Use& use) {
    use(core.values());
    use(border.values());
    use(std::span<double>(diagonal));
    use(std::span<double>(beside));
  }
  template <class Use>
  void for_each_array(const Use& use) const {
    use(core.values());
    use(border.values());
    use(std::span<const double>(diagonal));
    use(std::span<const double>(beside));
  }

  /// Calls `use(place, row, column)` for each element of `beside`; row and column are indices in the part.
  template <class Use>
  void for_each_beside(const Use& use) const {
    for (int j = 0; pattern_ && j < pattern_->columns(); ++j) {
      auto place = static_cast<std::size_t>(pattern_->begins[static_cast<std::size_t>(j)]);
      for (const int i : pattern_->rows_of(j)) use(place++, i, j);
    }
  }
  friend bool operator==(const PartedMatrix& a, const PartedMatrix& b);

  Matrix core;
  Matrix border;                 ///< part x core
  std::vector<double> diagonal;  ///< diagonal of the part
  std::vector<double> beside;    ///< off-diagonal elements of the pattern

 private:
  Part part_;
  std::shared_ptr<const SparsePattern> pattern_;
};

/// A = T' A T for a dense matrix, as `PartedMatrix::change_basis`.
void change_basis(Matrix& a, int begin, const Matrix& u, const Algebra& algebra);

[[nodiscard]] std::vector<double> multiply(const PartedMatrix& a, std::span<const double> x);

/// The core's and the part's elements of a vector, and the vector from both.
[[nodiscard]] std::vector<double> core_of(std::span<const double> x, const Part& part);
[[nodiscard]] std::vector<double> part_of(std::span<const double> x, const Part& part);
[[nodiscard]] std::vector<double> with_part(std::span<const double> core, std::span<const double> own,
                                            const Part& part);

}  // namespace TESSERA_NAMESPACE::gam
