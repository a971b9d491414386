// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/design/design.hpp"

#include <tessera/gam/matrix.hpp>
#include <tessera/job/job.hpp>

#include <span>

namespace TESSERA_NAMESPACE::gam {

/// Rows of a sketch that keeps norms to a few per cent: four times the columns, at least 1024, at most 2^17.
[[nodiscard]] int sketch_rows(int columns) noexcept;

/// *Collective.* The sketch S [R 1] of all complete rows on rank 0, where R are the raw columns; an empty
/// matrix on other ranks. Each row is added to four rows of the sketch; a hash of its number chooses these
/// rows and the signs. Norms of linear combinations of columns are kept to a few per cent, whatever their
/// size. Near dependences keep all digits of R; a crossproduct keeps half.
///
/// `norms`: norms of the raw columns, or upper bounds. Values are rounded to multiples of max(2^-49, 2^-60
/// sqrt(n)) times the norm. Integer sums are exact, so results do not depend on ranks or threads. CPU only.
/// Cost: a third of a pass that forms X'X; 8 bytes per element of the sketch and thread.
///
/// Source: OSNAP, the sparse subspace embedding of Nelson and Nguyen, FOCS 2013.
[[nodiscard]] Matrix row_sketch(Job& job, const Frame& frame, const Design& design,
                                std::span<const double> norms, int sketch);

}  // namespace TESSERA_NAMESPACE::gam
