// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/design/design.hpp"

#include <tessera/gam/matrix.hpp>
#include <tessera/job/job.hpp>

#include <span>

namespace TESSERA_NAMESPACE::gam {

/// Number of rows of a sketch of this many columns, enough for norms accurate to a few per cent: four times
/// the columns, at least 1024 and at most 2^17.
[[nodiscard]] int sketch_rows(int columns) noexcept;

/// *Collective.* A sketch S [R 1] of the raw columns R of all complete rows and of the constant, on rank 0;
/// an empty matrix on the others. Each row of R is added to four of the `sketch` rows, chosen with their
/// signs by a hash of the row's number. Norms of combinations of columns are preserved to a few per cent,
/// whatever their size. So near dependences of R's columns keep all digits of R, while in a crossproduct they
/// keep only half of the digits.
///
/// `norms`: norms of the raw columns, or upper bounds. Values are rounded to multiples of 2^-49 or 2^-60
/// sqrt(n) times the norm, whichever is larger, so that sums are exact: the bits are the same for any number
/// of ranks and threads. Rows are read on the host. Cost: a third of a pass that forms X'X; memory: 8 bytes
/// per element for each thread.
///
/// Source: the sparse embedding of Nelson and Nguyen, "OSNAP: faster numerical linear algebra algorithms via
/// sparser subspace embeddings", FOCS 2013.
[[nodiscard]] Matrix row_sketch(Job& job, const Frame& frame, const Design& design,
                                std::span<const double> norms, int sketch);

}  // namespace TESSERA_NAMESPACE::gam
