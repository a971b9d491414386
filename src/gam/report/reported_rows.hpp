// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/row_sample.hpp"

#include <tessera/gam/check.hpp>

namespace TESSERA_NAMESPACE::gam {

/// A sample of the fit's rows, and the checks of the fit, for a report.
struct ReportedRows {
  RowSample sample;
  CheckOptions options{};
  Check check{};
};

}  // namespace TESSERA_NAMESPACE::gam
