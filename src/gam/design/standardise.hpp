// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/formula/formula.hpp"
#include "gam/table/frame/frame.hpp"

#include <tessera/job/host_team.hpp>
#include <tessera/mpi/communicator.hpp>

#include <cstdint>
#include <vector>

/// Numeric columns as a fit sees them. A crossproduct of columns like northings of 5.5e6 +- 1000, or like
/// years beside their squares, has lost the digits that tell them from the intercept and from one another; so
/// each column is centred, made nearly orthogonal to the earlier ones and scaled in the row, before any
/// product.
namespace tessera::gam {

/// The power of two that brings a number to [1, 2); 1 for what has none.
[[nodiscard]] double power_of_two_for(double size);

/// What the values of one variable over the complete rows suggest. Scales are powers of two: exact.
struct Standard {
  double factor = 1;    ///< x * factor is at most about 1
  NumericPart centred;  ///< (x - mean) * factor has a standard deviation of about 1
  /// What is left of the centred variable when earlier variables of the formula have explained what they can,
  /// scaled like it; the variable itself comes first. Empty where they explain less than all but 1e-4 of its
  /// square, or all of it.
  std::vector<NumericPart> orthogonal;
};

/// By the places of the frame's variables; empty: every variable as it is.
using Standards = std::vector<Standard>;

/// *Collective.* Of the numbers in the formula's parametric terms, random slopes and by variables; the same
/// bits for any number of ranks and threads. `block`: rows whose sums are added in one order, of which a
/// rank's part of the table begins with a whole one. Cost: three passes over those variables, and two for
/// each that is nearly a combination of earlier ones.
[[nodiscard]] Standards standards_of(const tessera::mpi::Communicator& comm, const FormulaTerms& formula,
                                     const Frame& frame, std::int64_t block, HostTeam& team);

}  // namespace tessera::gam
