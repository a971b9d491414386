// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/row_sample.hpp"

#include <tessera/gam/check.hpp>

namespace TESSERA_NAMESPACE::gam {

/// Data from the rows of the fit that a page shows.
struct ReportedRows {
  RowSample sample;
  CheckOptions options{};  ///< options of the checks
  Check check{};
};

}  // namespace TESSERA_NAMESPACE::gam
