// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/row_pass.hpp"
#include "gam/rows/row_reader.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Deviance residual sign(y - mu) sqrt(deviance) of a complete row, in units of the scaled response.
[[nodiscard]] double deviance_residual(const Rows& rows, std::size_t row, std::span<const double> eta);

/// Residuals of single complete rows, in units of the scaled response, on the CPU. The arguments must outlive
/// this object. Not thread-safe, but copies are independent. Results do not depend on the order of calls.
class RowResiduals {
 public:
  RowResiduals(const Rows& rows, std::span<const double> raw_coef);

  /// `linear_predictors` include offsets, and are valid until the next call.
  struct Residual {
    std::span<const double> linear_predictors;
    double deviance;
  };
  [[nodiscard]] Residual of(std::size_t row);
  /// The residual after whitening with its predecessor in the series (series.hpp).
  [[nodiscard]] double standardised(std::size_t row);

 private:
  [[nodiscard]] Residual residual_in(const Rows& rows, RowReader& reader, std::size_t row);

  const Rows& rows_;
  std::span<const double> raw_coef_;
  RowReader reader_;
  std::vector<double> eta_;
  std::optional<double> before_rank_;  ///< deviance residual of the last row before this rank's rows
  std::optional<std::pair<std::size_t, double>> last_;  ///< row and its residual: the next row needs it
};

}  // namespace TESSERA_NAMESPACE::gam
