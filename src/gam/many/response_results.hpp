// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/output/table_output.hpp"
#include "gam/inference/term_tests.hpp"
#include "gam/many/response_fit.hpp"
#include "gam/model/fitted_response.hpp"

#include <tessera/function.hpp>
#include <tessera/gam/many.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Results of one response, for the formula's coefficients. NaN: not available.
struct ResponseRow {
  ManyStatus status = ManyStatus::failed;
  ManyReason reason = ManyReason::none;
  int limits = -1;                 ///< index in `limit_names`; -1: not fitted
  bool on_device = false;          ///< a GPU has summed the rows
  std::vector<double> values{};    ///< by numeric column
  std::vector<double> p_values{};  ///< by test
  std::vector<double> matrices{};  ///< rows of `ResponseResults::matrices`, concatenated
};

class ResponseResults {
 public:
  /// `design` must outlive this object. `model`: shared by all responses. Uses the options `covariances`, to
  /// store the `matrices` that a model of one response needs, and `drop`, the terms with a partial R2.
  ResponseResults(const SharedDesign& design, const FittedModel& model, const ManyEstimator& estimator,
                  const ManyOptions& options);

  /// Results of one response. Thread-safe. Cost: O(p^3) for p coefficients, mostly for p values of smooths.
  /// Without tests and covariances the p values are NaN. `deviances`: of fits without each dropped term.
  [[nodiscard]] ResponseRow row_of(const ResponseFit& fit, bool with_tests = true,
                                   std::span<const double> deviances = {}) const;
  /// Names of the tests: of parametric coefficients (Wald), of parametric terms with several coefficients
  /// (joint Wald), and of smooths (Wood 2013).
  [[nodiscard]] const std::vector<std::string>& tests() const noexcept { return tests_; }
  /// Names of `ResponseRow::values`.
  [[nodiscard]] const std::vector<std::string>& value_names() const noexcept { return columns_; }

  /// Columns without the column of names. They own their values.
  [[nodiscard]] std::vector<OutputColumn> columns(std::span<const ResponseRow> rows) const;
  [[nodiscard]] std::vector<OutputMatrix> matrices(std::span<const ResponseRow> rows) const;
  /// Serialises a row for checkpoints as `row_size` numbers. `row_from` throws `Error(input)` for numbers
  /// that are not a row.
  [[nodiscard]] std::size_t row_size() const;
  [[nodiscard]] std::vector<double> numbers_of(const ResponseRow& row) const;
  [[nodiscard]] ResponseRow row_from(std::span<const double> numbers) const;

 private:
  struct JointTerm {
    std::string label;
    std::vector<int> coefficients;
  };
  struct NamedMatrix {
    const char* name;
    int width;
  };

  void list_joint_terms(const FittedModel& model);
  [[nodiscard]] std::size_t size_of_matrices() const;
  void add_matrices(const ResponseFit& fit, const RemlFit& model, const std::vector<double>& coef,
                    ResponseRow& row) const;

  const SharedDesign& design_;
  ManyEstimator estimator_;
  std::vector<std::string> columns_;
  std::vector<std::string> tests_;
  std::vector<JointTerm> joint_terms_;
  std::vector<NamedMatrix> matrices_;
  bool covariances_ = false;
  bool absent_curves_ = false;  ///< a response may have a curve at minus infinity
};

/// The column of the names of all responses. Shared by batches, because copies of a million names per batch
/// would take as long as the fits.
class NameColumn {
 public:
  explicit NameColumn(std::vector<std::string> names);
  /// Calls `use` with the names of `responses`, then the columns.
  void write_with(Range responses, std::vector<OutputColumn> columns,
                  FunctionRef<void(std::span<const OutputColumn>)> use);

 private:
  OutputColumn names_;
};

/// Copies `numbers`.
[[nodiscard]] OutputColumn number_column(std::string name, std::span<const double> numbers);

}  // namespace TESSERA_NAMESPACE::gam
