// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/algebra.hpp"
#include "gam/linalg/border.hpp"
#include "gam/linalg/parted_matrix.hpp"

#include <memory>
#include <optional>
#include <span>
#include <vector>

/// Gaussian elimination of the part of a symmetric matrix A = [A11 A12; A21 A22], with the eliminated
/// coefficients first:
///
///     A11 = L D L',  W = L^-1 A12,  S = A22 - W' D^-1 W.
///
/// The Schur complement S is dense. Its rows are the outer coefficients: those of the core, and those of the
/// part whose elimination would cause too much fill-in.
///
///     const auto order = std::make_shared<const EliminationOrder>(gram, will_be_dense);
///     const OrderedMatrix a = in_order(gram, order, will_be_dense);
///     const auto block = eliminate(a, ridge, algebra);     // of A + ridge
///     const Matrix s = ...;                                 // a.outer - W' D^-1 W, by `weighted_square`
///     const SelectedInverse z = selected_inverse(a, *block, inverse_of_s, algebra);
///
/// The order of all operations depends only on the pattern: bits are the same for any number of threads.
namespace TESSERA_NAMESPACE::gam {

/// The elimination order, and its fill-in. A part without a pattern is eliminated completely, in its own
/// order, without fill-in.
///
/// Otherwise the largest run comes first, since its coefficients are not adjacent, or only within the small
/// blocks of a factor smooth. If that holds for all runs together, all come first. The others follow by
/// minimum degree. Source: the approximate minimum degree on a quotient graph of Amestoy, Davis and Duff,
/// SIAM J. Matrix Anal. Appl. 17 (1996), without supervariables.
class EliminationOrder {
 public:
  /// `will_be_dense`: columns of the core that count as dense, even where they are sparse now.
  EliminationOrder(const PartedMatrix& a, const std::vector<bool>& will_be_dense);

  [[nodiscard]] int eliminated() const noexcept { return eliminated_; }
  /// Number of coefficients of the part that are not eliminated.
  [[nodiscard]] int left() const noexcept { return static_cast<int>(order.size()) - eliminated_; }

  [[nodiscard]] bool has_pattern() const noexcept { return has_pattern_; }

  std::vector<int> order;  ///< places in the part in elimination order; then, ascending, the others
  std::vector<int> place;  ///< position in the order of each place in the part
  SparsePattern lower;     ///< pattern of L
  std::vector<int> dense;  ///< outer columns in which W is stored in full; empty if the part has no pattern
  SparsePattern beside;    ///< pattern of W in the other outer columns, row by row (as columns of W')
  SparsePattern rows;      ///< pattern of L row by row (as columns of L')
  std::vector<std::int64_t> row_places;  ///< index in `lower` of each element of `rows`
  /// The first coefficient of each dense diagonal block, if the whole part is eliminated and consists of such
  /// blocks; else empty. The other coefficients of a block are the rows of the first one's column of L.
  std::vector<int> blocks;
  /// Eliminated coefficients by level: a level depends only on earlier ones.
  std::vector<std::vector<int>> levels;

 private:
  struct Graph;
  void find_blocks();
  void take(const std::vector<std::vector<int>>& structs, const std::vector<int>& core_columns);

  int eliminated_ = 0;
  bool has_pattern_ = false;
};

/// The matrix A in elimination order.
struct OrderedMatrix {
  std::shared_ptr<const EliminationOrder> order;
  std::vector<double> diagonal;  ///< diagonal of A11
  std::vector<double> lower;     ///< A11 below its diagonal, with zeros where L fills in
  Border border;                 ///< A12, with zeros where W fills in
  Matrix outer;                  ///< A22

  [[nodiscard]] int eliminated() const noexcept { return static_cast<int>(diagonal.size()); }
  /// A x.
  [[nodiscard]] std::vector<double> times(std::span<const double> x) const;
};
[[nodiscard]] OrderedMatrix in_order(const PartedMatrix& a, std::shared_ptr<const EliminationOrder> order,
                                     const std::vector<bool>& will_be_dense);
/// Permutes a vector of A's size to the elimination order, and back.
[[nodiscard]] std::vector<double> in_order(std::span<const double> x, const Part& part,
                                           const EliminationOrder& order);
[[nodiscard]] std::vector<double> from_order(std::span<const double> x, const Part& part,
                                             const EliminationOrder& order);

/// D, L and W.
struct EliminatedBlock {
  std::shared_ptr<const EliminationOrder> order;
  std::vector<double> diagonal;  ///< D
  std::vector<double> lower;     ///< L
  std::optional<Border> own;     ///< W; absent if it is A12

  /// W; `a` is the matrix that was eliminated.
  [[nodiscard]] const Border& border(const OrderedMatrix& a) const noexcept { return own ? *own : a.border; }
  /// Replaces x by L^-1 x.
  void forward(std::span<double> x) const;
  /// Replaces x by L'^-1 x.
  void backward(std::span<double> x) const;
};

/// `diagonal`: the diagonal of A11 plus the ridge. Returns nothing if the block is not positive definite.
/// Cost: O(m^2) for a column of m elements.
[[nodiscard]] std::optional<EliminatedBlock> eliminate(const OrderedMatrix& a, std::vector<double> diagonal,
                                                       const Algebra& algebra);

/// The diagonal of the inverse of A, and the inverse's elements in the patterns of L and W.
struct SelectedInverse {
  std::vector<double> diagonal;
  std::vector<double> lower;
  Border border;
};

/// Computes the selected inverse from V = S^-1. `only_diagonal`: other elements than the diagonal may remain
/// uncomputed. Cost: twice that of `eliminate`.
///
/// Source: Takahashi, Fagan and Chen, 8th PICA Conference (1973).
[[nodiscard]] SelectedInverse selected_inverse(const OrderedMatrix& a, const EliminatedBlock& block,
                                               const Matrix& outer_inverse, const Algebra& algebra,
                                               bool only_diagonal = false);

/// The contribution of the dense diagonal blocks of A11 to traces of products with the inverse of A: see
/// `PenaltyTraces`.
struct BlockInverse {
  std::vector<double> diagonal;                     ///< diagonal of A11^-1
  std::vector<double> lower;                        ///< A11^-1 below its diagonal, in the pattern of L
  std::vector<double> whole_diagonal, whole_lower;  ///< the same for the block of A^-1
  Border solved;                                    ///< A11^-1 A12
};

/// Inverts the dense diagonal blocks. Requires `EliminationOrder::blocks`; V = S^-1. Cost: m^3 + O(m q^2) for
/// a block of m coefficients and q outer columns.
[[nodiscard]] BlockInverse block_inverse(const OrderedMatrix& a, const EliminatedBlock& block,
                                         const Matrix& outer_inverse, const Algebra& algebra);

/// The inverse of A with the pattern of `like`, which has A in the original order.
[[nodiscard]] PartedMatrix parted_inverse(const PartedMatrix& like, const OrderedMatrix& a,
                                          const EliminatedBlock& block, const Matrix& outer_inverse,
                                          const Algebra& algebra);

}  // namespace TESSERA_NAMESPACE::gam
