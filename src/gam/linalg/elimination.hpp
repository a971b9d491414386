// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/algebra.hpp"
#include "gam/linalg/border.hpp"
#include "gam/linalg/parted_matrix.hpp"

#include <memory>
#include <optional>
#include <span>
#include <vector>

/// Block elimination of the part of a symmetric matrix A = [A11 A12; A21 A22], eliminated rows first:
///
///     A11 = L D L',  W = L^-1 A12,  S = A22 - W' D^-1 W.
///
/// The Schur complement S is dense. Its rows, the outer coefficients, are the core and those coefficients of
/// the part whose elimination would cause too much fill-in.
///
///     const auto order = std::make_shared<const EliminationOrder>(gram, will_be_dense);
///     const OrderedMatrix a = in_order(gram, order, will_be_dense);
///     const auto block = eliminate(a, diagonal, algebra);  // of A
///     const Matrix s = ...;                                 // a.outer - W' D^-1 W, by `weighted_square`
///     const SelectedInverse z = selected_inverse(a, *block, inverse_of_s, algebra);
///
/// The pattern alone determines the order of all operations: results do not depend on the number of threads.
namespace TESSERA_NAMESPACE::gam {

/// The elimination order with the patterns of L and W, including fill-in. A part without a pattern is
/// eliminated completely, in its own order, without fill-in.
///
/// Otherwise the largest run (random effect) is eliminated first: no nonzeros connect its coefficients,
/// except within the small blocks of a factor smooth. If no two runs share a nonzero, all runs are eliminated
/// first. The remaining coefficients follow by approximate minimum degree on a quotient graph, without
/// supervariables (Amestoy, Davis and Duff, SIAM J. Matrix Anal. Appl. 17, 1996).
class EliminationOrder {
 public:
  /// `will_be_dense`: columns of the core that count as dense even if they are sparse now.
  EliminationOrder(const PartedMatrix& a, const std::vector<bool>& will_be_dense);

  [[nodiscard]] int eliminated() const noexcept { return eliminated_; }
  /// Number of coefficients of the part that are not eliminated.
  [[nodiscard]] int left() const noexcept { return static_cast<int>(order.size()) - eliminated_; }

  [[nodiscard]] bool has_pattern() const noexcept { return has_pattern_; }

  std::vector<int> order;  ///< indices in the part in elimination order; then the rest, ascending
  std::vector<int> place;  ///< the inverse permutation of `order`
  SparsePattern lower;     ///< pattern of L
  std::vector<int> dense;  ///< outer columns that W stores in full; empty if the part has no pattern
  SparsePattern beside;    ///< pattern of W in the other outer columns, by row (as columns of W')
  SparsePattern rows;      ///< pattern of L by row (as columns of L')
  std::vector<std::int64_t> row_places;  ///< index in `lower` of each element of `rows`
  /// The first coefficient of each dense diagonal block; empty unless the whole part is eliminated and
  /// consists of such blocks. The block's other coefficients are `lower.rows_of(first)`.
  std::vector<int> blocks;
  /// Eliminated coefficients by level: columns of L in a level depend only on earlier levels.
  std::vector<std::vector<int>> levels;

 private:
  struct Graph;
  void find_blocks();
  void take(const std::vector<std::vector<int>>& structs, const std::vector<int>& core_columns);

  int eliminated_ = 0;
  bool has_pattern_ = false;
};

struct OrderedMatrix {
  std::shared_ptr<const EliminationOrder> order;
  std::vector<double> diagonal;  ///< diagonal of A11
  std::vector<double> lower;     ///< A11 below its diagonal, with zeros where L fills in
  Border border;                 ///< A12, with zeros where W fills in
  Matrix outer;                  ///< A22

  [[nodiscard]] int eliminated() const noexcept { return static_cast<int>(diagonal.size()); }
  [[nodiscard]] std::vector<double> times(std::span<const double> x) const;
};
[[nodiscard]] OrderedMatrix in_order(const PartedMatrix& a, std::shared_ptr<const EliminationOrder> order,
                                     const std::vector<bool>& will_be_dense);
/// Permutes a vector to the elimination order, and back to the original order.
[[nodiscard]] std::vector<double> in_order(std::span<const double> x, const Part& part,
                                           const EliminationOrder& order);
[[nodiscard]] std::vector<double> from_order(std::span<const double> x, const Part& part,
                                             const EliminationOrder& order);

struct EliminatedBlock {
  std::shared_ptr<const EliminationOrder> order;
  std::vector<double> diagonal;  ///< D
  std::vector<double> lower;     ///< L
  std::optional<Border> own;     ///< W; absent if W = A12 (no pattern)

  /// W; `a` is the matrix that was eliminated.
  [[nodiscard]] const Border& border(const OrderedMatrix& a) const noexcept { return own ? *own : a.border; }
  /// Replaces x by L^-1 x.
  void forward(std::span<double> x) const;
  /// Replaces x by L'^-1 x.
  void backward(std::span<double> x) const;
};

/// Computes L, D and W. `diagonal`: the diagonal of A11 plus the ridge. Empty if A11 plus the ridge is not
/// positive definite. Cost: O(m^2) for a column of L with m elements.
[[nodiscard]] std::optional<EliminatedBlock> eliminate(const OrderedMatrix& a, std::vector<double> diagonal,
                                                       const Algebra& algebra);

/// The diagonal of the inverse of A, and the inverse's elements in the patterns of L and W.
struct SelectedInverse {
  std::vector<double> diagonal;
  std::vector<double> lower;
  Border border;
};

/// Computes the selected inverse from V = S^-1 (Takahashi, Fagan and Chen, 8th PICA Conference, 1973). With
/// `only_diagonal`, off-diagonal elements may be left unset. Cost: twice that of `eliminate`.
[[nodiscard]] SelectedInverse selected_inverse(const OrderedMatrix& a, const EliminatedBlock& block,
                                               const Matrix& outer_inverse, const Algebra& algebra,
                                               bool only_diagonal = false);

/// Inverses of the dense diagonal blocks, for traces of products with A^-1 (see `PenaltyTraces`).
struct BlockInverse {
  std::vector<double> diagonal;                     ///< diagonal of A11^-1
  std::vector<double> lower;                        ///< A11^-1 below its diagonal, in the pattern of L
  std::vector<double> whole_diagonal, whole_lower;  ///< diagonal and lower elements of the blocks of A^-1
  Border solved;                                    ///< A11^-1 A12
};

/// Inverts the dense diagonal blocks. Requires `EliminationOrder::blocks`; V = S^-1. Cost: m^3 + O(m q^2) for
/// a block of m coefficients and q outer columns.
[[nodiscard]] BlockInverse block_inverse(const OrderedMatrix& a, const EliminatedBlock& block,
                                         const Matrix& outer_inverse, const Algebra& algebra);

/// The inverse of A in the original order, in the pattern of `like`.
[[nodiscard]] PartedMatrix parted_inverse(const PartedMatrix& like, const OrderedMatrix& a,
                                          const EliminatedBlock& block, const Matrix& outer_inverse,
                                          const Algebra& algebra);

}  // namespace TESSERA_NAMESPACE::gam
