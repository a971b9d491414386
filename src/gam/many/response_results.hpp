// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/output/table_output.hpp"
#include "gam/many/response_fit.hpp"

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// By `ManyStatus`.
inline constexpr std::array<std::string_view, 6> status_names = {"converged", "all_zero",  "constant",
                                                                 "too_few",   "unbounded", "failed"};

/// The results of one response, in the formula's coefficients; NaN where there is no number.
struct ResponseRow {
  ManyStatus status = ManyStatus::failed;
  std::vector<double> values{};    ///< by column, without the name and the status
  std::vector<double> p_values{};  ///< by test
  bool on_device = false;          ///< the rows were summed by a GPU
};

/// The columns of the results of all responses.
class ResponseResults {
 public:
  /// The design must outlive it.
  ResponseResults(const SharedDesign& design, const ManyEstimator& estimator);

  /// Thread-safe. Cost: O(p^3) for p coefficients; p values of smooths cost most. Without tests the p values
  /// are NaN.
  [[nodiscard]] ResponseRow row_of(const ResponseFit& fit, bool with_tests = true) const;
  /// The terms that are tested: a parametric coefficient (Wald) or a smooth (Wood 2013).
  [[nodiscard]] const std::vector<std::string>& tests() const noexcept { return tests_; }
  /// The names of `ResponseRow::values`.
  [[nodiscard]] const std::vector<std::string>& value_names() const noexcept { return columns_; }

  /// Columns of some rows. `names` are the names of all responses, and `first` is the index of the first row.
  /// The columns own their values.
  [[nodiscard]] std::vector<OutputColumn> columns(std::span<const ResponseRow> rows,
                                                  const std::vector<std::string>& names,
                                                  std::int64_t first) const;
  [[nodiscard]] static OutputColumn name_column(const std::vector<std::string>& names, std::int64_t first,
                                                std::int64_t count);

 private:
  const SharedDesign& design_;
  ManyEstimator estimator_;
  std::vector<std::string> columns_;
  std::vector<std::string> tests_;
};

/// A column with a copy of these numbers.
[[nodiscard]] OutputColumn number_column(std::string name, std::span<const double> numbers);

}  // namespace TESSERA_NAMESPACE::gam
