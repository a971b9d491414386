// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/design/design.hpp"
#include "gam/design/knots.hpp"
#include "gam/design/setup_rows.hpp"
#include "gam/design/smooth.hpp"
#include "gam/design/standardise.hpp"
#include "gam/formula/formula.hpp"

#include <tessera/mpi/communicator.hpp>

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

/// Builds the model matrix of a formula and a frame in two steps. A pass over the rows comes between the
/// steps, because the constraint of a smooth needs the column means over all complete rows of the job:
///
///     DesignDraft draft = draft_design({comm, team}, formula, frame, knots);  // collective
///     RawMoments moments = pass_over(draft.design).moments();            // R'1
///     Design design = finish_design(draft, moments.column_sums, frame.complete_rows);
namespace TESSERA_NAMESPACE::gam {

/// A block of coefficients before its constraint and its position among the coefficients are known.
struct DraftBlock {
  CoefBlock block;
  bool constrained = false;
  Matrix null_space;  ///< orthonormal null space of the penalties; empty: an unpenalised parametric term
  Matrix values;      ///< see `SmoothBasis`
  double log_det_values = 0;
  std::vector<double> constant;
  std::vector<int> sum_begins;  ///< first raw columns of the blocks (levels, smooths of an id) to add up
  std::string id;
  int copies = 1;             ///< number of smooths with this id, which share column sums
  std::vector<double> point;  ///< columns at the point where the smooth is zero (pc); empty: no such point
  std::vector<double> sp;     ///< see `SmoothSpec`
  bool select = false;        ///< whether the remaining null space gets a penalty (select=TRUE)
  int least_varying = -1;     ///< the column of least variance, in mgcv's coefficients; -1: none
  double by_value = 1;        ///< value of a constant by variable, by which raw sums are divided
};

/// `design` has no coefficient blocks yet: a pass over the raw columns does not need them.
struct DesignDraft {
  Design design;
  std::vector<DraftBlock> blocks;
  std::string note;  ///< for the log; empty: none
};

/// *Collective.* Finds knots, levels and scales, and lays out the raw columns.
///
/// Throws the same error on every rank: the errors of `make_basis`; `Error(input)` if the parametric part has
/// a factor with fewer than two levels or a constant number; `Error(usage)` for supplied knots of a variable
/// that no spline uses. Cost: a pass over each spline variable whose values must be sorted, and a pass over
/// the rows for each smooth not made of B-splines only. `standards`: standardisation of the numeric variables
/// of parametric terms, `by=` and random slopes. Random effects of more than `largest_whole_effect`
/// coefficients become the design's `parted_columns`. `prior_weight`: index of the weights in the frame,
/// which R counts as a column of the model: see `SetupRows`.
[[nodiscard]] DesignDraft draft_design(const Workers& workers, const FormulaTerms& formula,
                                       const Frame& frame, const SuppliedKnots& supplied,
                                       const Standards& standards = {},
                                       int largest_whole_effect = std::numeric_limits<int>::max(),
                                       int prior_weight = -1, SetupSample sample = SetupSample::as_bam);

/// Returns the design with constraints and names. `column_sums` are R'1 over the `rows` complete rows of the
/// job. Pure. Throws `Error(input)` if there are more coefficients than rows, and at least as many
/// unpenalised ones as rows.
[[nodiscard]] Design finish_design(const DesignDraft& draft, std::span<const double> column_sums,
                                   std::int64_t rows);

}  // namespace TESSERA_NAMESPACE::gam
