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

/// Log smoothing parameter of a term at its limit; theta of Poisson counts.
inline constexpr double infinite = std::numeric_limits<double>::infinity();

/// Rows in which the same blocks of coefficients are nonzero, e.g. the cells of one lineage in a model with a
/// smooth for each lineage. All other columns are zero.
struct RowGroup {
  int begin = 0;  ///< packets [begin, end) of the design
  int end = 0;
  std::vector<int> columns;  ///< nonzero columns, ascending
  std::vector<double> x;     ///< values of `columns`, laid out like `LaneColumns::x`
  /// Coefficients that no other group has, if an unpenalised combination of them is 1 in each row; otherwise
  /// empty. If all counts of the group are zero, its curve is minus infinity.
  std::vector<int> own_curve;
  std::vector<int> own_line;         ///< unpenalised elements of `own_curve`, as indices in `columns`
  std::vector<double> own_constant;  ///< the combination that is 1 in each row, in the formula's coefficients
};

/// A connected component: no row or penalty couples its coefficients with others. X'WX + S is block diagonal.
/// Example: a lineage, if each lineage has its own smooth and level.
struct DesignComponent {
  int begin = 0;  ///< columns [begin, end)
  int end = 0;
  int first_group = 0;  ///< groups [first_group, last_group)
  int last_group = 0;
  std::vector<int> penalties{};   ///< indices in `SharedDesign::penalties`
  std::vector<int> parameters{};  ///< smoothing parameters of `penalties`, ascending
  /// Bases of the penalties if some share coefficients; otherwise empty.
  std::vector<BlockBasis> bases{};
};

/// A penalty lambda b'Sb on the coefficients from `begin` on, with log lambda = log smoothing parameter +
/// `offset`. If `parameter` is -1, log lambda = `offset`.
struct SharedPenalty {
  int parameter = -1;
  double offset = 0;
  int begin = 0;
  std::vector<double> diagonal{};  ///< S if diagonal
  Matrix dense{};                  ///< S if not diagonal
  [[nodiscard]] int size() const noexcept {
    return diagonal.empty() ? dense.rows() : static_cast<int>(diagonal.size());
  }
};

class GaussianSpectrum;

/// The design shared by all responses of `fit_many`: the covariates' rows in packets of eight, and the
/// penalties. Row `lane` of packet k is in slot 8 k + lane.
///
/// Coordinates are chosen so that a single penalty is the identity on its range, and two penalties on the
/// same coefficients are both diagonal. Penalties are exactly zero on their null space: even lambda = e^25
/// costs no precision. As many parametric functions as possible are nonzero in only one group, e.g. an
/// indicator of each lineage instead of contrasts.
struct SharedDesign {
  Design design;  ///< terms, blocks and names of the formula
  std::int64_t table_rows = 0;
  int rows = 0;     ///< complete rows
  int packets = 0;  ///< packets of all groups
  int columns = 0;  ///< coefficients
  /// One vector for each unpenalised function that was dropped as a combination of others: a change of the
  /// formula's coefficients that changes no linear predictor. Parametric functions are dropped first.
  std::vector<std::vector<double>> undetermined;
  std::vector<DesignComponent> components;
  std::vector<RowGroup> groups;    ///< sorted by component
  std::vector<int> slot_of_row;    ///< slot by row of the table; -1: a value is missing
  std::vector<double> offset;      ///< by slot
  std::vector<double> exp_offset;  ///< e^offset by slot
  std::vector<double> weight;      ///< prior weight by slot; zero in a slot without a row
  std::vector<SharedPenalty> penalties;
  int parameters = 0;  ///< estimated smoothing parameters
  std::vector<std::string> parameter_names;
  /// By parameter: coefficients that are zero at an infinite lambda; empty if penalties share coefficients.
  std::vector<std::vector<int>> penalised;
  std::vector<double> gram;          ///< X'WX, packed; zero between components
  SmallCholesky near_least_squares;  ///< factor of X'WX plus a small ridge
  std::vector<double> constant;      ///< coefficients whose predictor is closest to 1 in all rows
  Matrix to_formula;                 ///< formula's coefficients = to_formula * coefficients
  Matrix from_formula;               ///< inverse of `to_formula` on its range
  int null_space = 0;                ///< dimension of the unpenalised space
  std::shared_ptr<const GaussianSpectrum> spectrum;  ///< null if not requested or not available
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

struct SharedDesignRequest {
  FormulaTerms formula;  ///< a response is ignored
  std::string weights;   ///< expression; empty: all weights are 1
  SuppliedKnots knots;
  bool with_spectrum = true;  ///< compute the spectrum, for gaussian responses
};

/// Reads the covariates and sets up the model on this rank. `workers` must have a serial communicator.
/// Bitwise equal on every rank. Throws `Error(input)` and `Error(usage)` like a fit of the table.
[[nodiscard]] SharedDesign make_shared_design(const Workers& workers, TableReader& table,
                                              const TableOptions& options,
                                              const SharedDesignRequest& request);

}  // namespace TESSERA_NAMESPACE::gam
