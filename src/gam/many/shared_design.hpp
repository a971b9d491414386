// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/variable_summary.hpp"
#include "gam/data/frame/workers.hpp"
#include "gam/data/source/table_reader.hpp"
#include "gam/design/design.hpp"
#include "gam/design/knots.hpp"
#include "gam/formula/formula.hpp"
#include "gam/many/row_kernels.hpp"
#include "gam/many/small_cholesky.hpp"
#include "gam/reml/penalty_basis.hpp"

#include <tessera/gam/matrix.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The log smoothing parameter of a term at its limit, and theta of counts that are Poisson.
inline constexpr double infinite = std::numeric_limits<double>::infinity();

/// Rows that have values in the same blocks of coefficients, such as the cells of one lineage in a model with
/// a smooth for each. All other columns are zero in them.
struct RowGroup {
  int begin = 0;  ///< packets [begin, end) of the design
  int end = 0;
  std::vector<int> columns;  ///< the coefficients, ascending
  std::vector<double> x;     ///< as `LaneColumns`, with all of `columns`
  /// The coefficients that no other group has, if an unpenalised combination of them is 1 in each row of the
  /// group: without a count the curve of the group is at minus infinity. Else empty.
  std::vector<int> own_curve;
  std::vector<int> own_line;         ///< the unpenalised coefficients of these, as indices among `columns`
  std::vector<double> own_constant;  ///< the formula's coefficients of that combination
};

/// Coefficients that no row and no penalty joins with others: X'WX + S has a block for each component. With a
/// smooth and a level for each lineage, these are the lineages.
struct DesignComponent {
  int begin = 0;  ///< columns [begin, end)
  int end = 0;
  int first_group = 0;  ///< groups [first_group, last_group)
  int last_group = 0;
  std::vector<int> penalties{};   ///< indices
  std::vector<int> parameters{};  ///< smoothing parameters of these, ascending
  /// Of all of its penalties, if some are not diagonal; else empty.
  std::vector<BlockBasis> bases{};
};

/// A penalty exp(log lambda) b'Sb on the coefficients from `begin` on; log lambda = log smoothing parameter +
/// offset. `parameter`: index of the smoothing parameter; -1: log lambda is `offset`.
struct SharedPenalty {
  int parameter = -1;
  double offset = 0;
  int begin = 0;
  std::vector<double> diagonal{};  ///< S, if it is diagonal
  Matrix dense{};                  ///< else S
  [[nodiscard]] int size() const noexcept {
    return diagonal.empty() ? dense.rows() : static_cast<int>(diagonal.size());
  }
};

class GaussianSpectrum;

/// What all responses of `fit_many` share: the rows of the covariates, in packets of eight, and the
/// penalties.
///
/// Coefficients are in coordinates in which a single penalty is exactly the identity on its range, and zero
/// on its null space: a lambda of e^25 costs no digits. As many functions of the parametric part as possible
/// are not zero in one group only, such as a level for each lineage in place of contrasts. `to_formula` maps
/// coefficients to the formula's.
struct SharedDesign {
  Design design;  ///< the formula's terms, blocks and names
  std::int64_t table_rows = 0;
  int rows = 0;     ///< complete rows
  int packets = 0;  ///< of all groups
  int columns = 0;  ///< coefficients
  /// Number of unpenalised functions of the formula without a coefficient, as others determine them:
  /// functions of the parametric part where possible.
  int dropped = 0;
  std::vector<DesignComponent> components;
  std::vector<RowGroup> groups;  ///< by component
  std::vector<int> slot_of_row;  ///< by row of the table: its slot (a packet's lane); -1: a value is missing
  std::vector<double> offset;    ///< by slot
  std::vector<double> weight;    ///< by slot: the prior weight, zero where a packet has no row
  std::vector<SharedPenalty> penalties;
  int parameters = 0;  ///< smoothing parameters that are estimated
  std::vector<std::string> parameter_names;
  /// By parameter with diagonal penalties only: the coefficients that an infinite lambda leaves zero.
  std::vector<std::vector<int>> penalised;
  std::vector<double> gram;          ///< X'WX, packed; zero between components
  SmallCholesky near_least_squares;  ///< of X'WX with a small ridge
  std::vector<double> constant;      ///< coefficients whose predictor is nearest to 1 in every row
  Matrix to_formula;                 ///< coefficients of the formula x columns
  Matrix from_formula;               ///< columns x coefficients of the formula: its inverse on their range
  int null_space = 0;                ///< dimension of the unpenalised space
  std::shared_ptr<const GaussianSpectrum> spectrum;  ///< if asked for, and the design has one
  // For predictions: as `FittedModel` has them.
  Recipe recipe;
  std::vector<std::pair<std::string, std::string>> units;
  std::vector<VariableSummary> summaries;
  std::vector<double> column_means;

  [[nodiscard]] std::size_t slots() const noexcept {
    return static_cast<std::size_t>(packets) * base::lane_count;
  }
};

/// Options of the design.
struct SharedDesignRequest {
  FormulaTerms formula;  ///< its response is not read
  std::string weights;   ///< an expression; empty: 1
  SuppliedKnots knots;
  bool with_spectrum = true;  ///< responses may be gaussian
};

/// Reads the covariates and sets up the model on this rank alone: `workers` has a serial communicator. The
/// same bits on every rank. Throws `Error(input)` and `Error(usage)` as a fit of the table does.
[[nodiscard]] SharedDesign make_shared_design(const Workers& workers, TableReader& table,
                                              const TableOptions& options,
                                              const SharedDesignRequest& request);

}  // namespace TESSERA_NAMESPACE::gam
