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
#include "gam/model/data_outline.hpp"
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

/// The log smoothing parameter of a term at its limit; the theta of Poisson counts.
inline constexpr double infinite = std::numeric_limits<double>::infinity();

/// Rows in which the same blocks of coefficients are nonzero, e.g. the cells of one lineage in a model with a
/// smooth for each lineage. All other columns are zero in these rows.
struct RowGroup {
  int begin = 0;  ///< packets [begin, end) of the design's rows
  int end = 0;
  std::vector<int> columns;  ///< coefficients that are nonzero in the group, ascending
  std::vector<double> x;     ///< values of `columns`, as `LaneColumns::x`
  /// The coefficients that no other group has, if some unpenalised combination of them is 1 in each row of
  /// the group; otherwise empty. If all counts of such a group are zero, its curve is minus infinity.
  std::vector<int> own_curve;
  std::vector<int> own_line;         ///< the unpenalised ones among `own_curve`, as indices in `columns`
  std::vector<double> own_constant;  ///< the combination that is 1 in each row, as coefficients of the
                                     ///< formula
};

/// Coefficients that no row and no penalty connects with others, so that X'WX + S has a block for each
/// component. In a model with a smooth and a level for each lineage, each lineage is a component.
struct DesignComponent {
  int begin = 0;  ///< columns [begin, end)
  int end = 0;
  int first_group = 0;  ///< groups [first_group, last_group)
  int last_group = 0;
  std::vector<int> penalties{};   ///< indices of penalties
  std::vector<int> parameters{};  ///< smoothing parameters of these penalties, ascending
  /// Bases of all its penalties, if some share coefficients; otherwise empty.
  std::vector<BlockBasis> bases{};
};

/// A penalty exp(log lambda) b'Sb on the coefficients from `begin` on, with log lambda = log smoothing
/// parameter + offset. `parameter` is the index of the smoothing parameter; -1: log lambda is `offset`.
struct SharedPenalty {
  int parameter = -1;
  double offset = 0;
  int begin = 0;
  std::vector<double> diagonal{};  ///< S if it is diagonal, as a smooth's one or two penalties are
  Matrix dense{};                  ///< S if it is not diagonal
  [[nodiscard]] int size() const noexcept {
    return diagonal.empty() ? dense.rows() : static_cast<int>(diagonal.size());
  }
};

class GaussianSpectrum;

/// The design that all responses of `fit_many` share: the rows of the covariates, in packets of eight, and
/// the penalties. A slot is the place of a row: lane l of packet k is slot 8 k + l.
///
/// Coefficients are in coordinates in which a single penalty is exactly the identity on its range, two that
/// share coefficients are diagonal, and each is exactly zero on its null space: even a lambda of e^25 costs
/// no precision. As many functions of the parametric part as possible are nonzero in only one group, e.g. a
/// level for each lineage in place of contrasts. `to_formula` maps coefficients to the formula's.
struct SharedDesign {
  Design design;  ///< terms, blocks and names of the formula
  std::int64_t table_rows = 0;
  int rows = 0;     ///< number of complete rows
  int packets = 0;  ///< number of packets of all groups
  int columns = 0;  ///< number of coefficients
  /// For each unpenalised function of the formula that has no coefficient, because other functions determine
  /// it, a change of the formula's coefficients that changes no row. Functions of the parametric part are
  /// dropped first.
  std::vector<std::vector<double>> undetermined;
  std::vector<DesignComponent> components;
  std::vector<RowGroup> groups;    ///< sorted by component
  std::vector<int> slot_of_row;    ///< slot of each row of the table; -1: a value is missing
  std::vector<double> offset;      ///< the offset by slot
  std::vector<double> exp_offset;  ///< e^offset, by slot
  std::vector<double> weight;      ///< prior weight, by slot; zero in a slot without a row
  std::vector<SharedPenalty> penalties;
  int parameters = 0;  ///< number of estimated smoothing parameters
  std::vector<std::string> parameter_names;
  /// By parameter whose penalties share no coefficients with others: those that an infinite lambda makes
  /// zero.
  std::vector<std::vector<int>> penalised;
  std::vector<double> gram;          ///< X'WX, packed; zero between components
  SmallCholesky near_least_squares;  ///< factor of X'WX plus a small ridge
  std::vector<double> constant;      ///< coefficients whose predictor is closest to 1 in all rows
  Matrix to_formula;                 ///< map to the formula's coefficients (rows) from those of the design
                                     ///< (columns)
  Matrix from_formula;               ///< the inverse of `to_formula` on its range
  int null_space = 0;                ///< dimension of the unpenalised space
  std::shared_ptr<const GaussianSpectrum> spectrum;  ///< if it was requested, and the design has one
  // For predictions, as in `FittedModel`.
  Recipe recipe;
  std::vector<std::pair<std::string, std::string>> units;
  std::vector<VariableSummary> summaries;
  std::vector<CurveExtent> curves;
  std::vector<double> column_means;

  [[nodiscard]] std::size_t slots() const noexcept {
    return static_cast<std::size_t>(packets) * base::lane_count;
  }
};

/// Request for a design.
struct SharedDesignRequest {
  FormulaTerms formula;  ///< a response in it is ignored
  std::string weights;   ///< an expression; empty: all weights are 1
  SuppliedKnots knots;
  bool with_spectrum = true;  ///< whether to compute the spectrum too, for gaussian responses
};

/// Reads the covariates and sets up the model on this rank: `workers` has a serial communicator. The same
/// bits on every rank. Throws `Error(input)` and `Error(usage)` like a fit of the table.
[[nodiscard]] SharedDesign make_shared_design(const Workers& workers, TableReader& table,
                                              const TableOptions& options,
                                              const SharedDesignRequest& request);

}  // namespace TESSERA_NAMESPACE::gam
