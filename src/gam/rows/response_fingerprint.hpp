// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/row_pass.hpp"
#include "gam/table/frame/workers.hpp"

#include <string>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* Identifies the response of the job's complete rows, values and rows of the table alike:
/// sixteen hexadecimal digits, the same on every rank and for any number of ranks and threads. It finds
/// accidents; it is no defence against malice. Cost: one look at the response.
///
/// A sum modulo 2^64 over the rows, so that it does not depend on who has which, of numbers that mix a row's
/// number in the table with the bits of its response.
[[nodiscard]] std::string response_fingerprint(const Workers& workers, const Rows& rows);

}  // namespace TESSERA_NAMESPACE::gam
