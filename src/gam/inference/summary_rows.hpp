// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <string>

/// What the tables of a summary say of a term (term_tests.hpp computes it).
namespace TESSERA_NAMESPACE::gam {

/// A row of the summary's parametric table.
struct CoefficientTest {
  std::string name;
  double estimate = 0;
  double standard_error = 0;
  double statistic = 0;  ///< t if the scale is estimated, else z
  double p_value = 0;
};

/// A row of the summary's smooth table.
struct SmoothTest {
  std::string label;
  double edf = 0;
  double reference_df = 0;
  double statistic = 0;  ///< F if the scale is estimated, else chi-squared
  double p_value = 0;
};

}  // namespace TESSERA_NAMESPACE::gam
