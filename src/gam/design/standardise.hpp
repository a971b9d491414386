// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/design/design.hpp"
#include "gam/formula/formula.hpp"

#include <tessera/job/host_team.hpp>
#include <tessera/mpi/communicator.hpp>

#include <cstdint>
#include <vector>

/// Standardisation of numeric columns in a fit. A crossproduct of columns such as northings of 5.5e6 +- 1000,
/// or years and their squares, loses the digits that distinguish them from the intercept and from each other.
/// Therefore each column is centred, made nearly orthogonal to earlier ones and scaled, row by row, before
/// any product.
namespace TESSERA_NAMESPACE::gam {

/// The power of two whose product with `size` is in [1, 2); 1 if there is none.
[[nodiscard]] double power_of_two_for(double size);

/// Standardisation of one variable, from its values in the complete rows. Scales are powers of two: exact.
struct Standard {
  double factor = 1;    ///< |x| * factor is below 2
  NumericPart centred;  ///< (x - mean) * factor has a standard deviation in [1, 2)
  /// The residual of the centred variable given earlier ones, scaled in the same way; the first part is the
  /// variable. Empty if the residual's square exceeds 1e-4 of the variable's, or is a rounding error.
  std::vector<NumericPart> orthogonal;
};

/// Indexed by the frame's variables; empty: no variable is standardised.
using Standards = std::vector<Standard>;

/// *Collective.* Standards of the numeric variables in parametric terms, random slopes and `by=` of the
/// formula; the same bits for any number of ranks and threads. `block`: number of rows that are summed in a
/// fixed order; a rank's part of the table begins with a block. Cost: three passes over these variables, and
/// three more for each variable that earlier ones nearly determine.
[[nodiscard]] Standards standards_of(const tessera::mpi::Communicator& comm, const FormulaTerms& formula,
                                     const Frame& frame, std::int64_t block, HostTeam& team);

}  // namespace TESSERA_NAMESPACE::gam
