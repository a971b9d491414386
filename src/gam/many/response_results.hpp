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

/// The results of one response, for the formula's coefficients. NaN: there is no number.
struct ResponseRow {
  ManyStatus status = ManyStatus::failed;
  ManyReason reason = ManyReason::none;
  int limits = -1;                 ///< index among `limit_names`; -1: not fitted
  bool on_device = false;          ///< whether a GPU has summed its rows
  std::vector<double> values{};    ///< a value for each column of numbers
  std::vector<double> p_values{};  ///< a p value for each test
  std::vector<double> matrices{};  ///< the response's row of each of `ResponseResults::matrices`, one after
                                   ///< the other
};

/// The columns of the results of all responses.
class ResponseResults {
 public:
  /// The design must outlive this object. `model`: the model that all responses share. `options`: whether the
  /// results include `matrices`, which a model of one response needs, and the terms with a partial R2.
  ResponseResults(const SharedDesign& design, const FittedModel& model, const ManyEstimator& estimator,
                  const ManyOptions& options);

  /// The results of one response. Thread-safe. Cost: O(p^3) for p coefficients, mostly for the p values of
  /// smooths. Without tests and covariances the p values are NaN. `deviances`: of the fits without each of
  /// the dropped terms, for a fit that has begun.
  [[nodiscard]] ResponseRow row_of(const ResponseFit& fit, bool with_tests = true,
                                   std::span<const double> deviances = {}) const;
  /// The names of the tests: of a parametric coefficient (Wald), of a parametric term with several
  /// coefficients (Wald, jointly), or of a smooth (Wood 2013).
  [[nodiscard]] const std::vector<std::string>& tests() const noexcept { return tests_; }
  /// The names of `ResponseRow::values`.
  [[nodiscard]] const std::vector<std::string>& value_names() const noexcept { return columns_; }

  /// The columns for some rows, without that of the names. The columns own their values.
  [[nodiscard]] std::vector<OutputColumn> columns(std::span<const ResponseRow> rows) const;
  [[nodiscard]] std::vector<OutputMatrix> matrices(std::span<const ResponseRow> rows) const;
  /// A row as numbers, for checkpoints. `row_size`: how many numbers every row has. `row_from` throws
  /// `Error(input)` for numbers that are not of a row.
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
  bool absent_curves_ = false;  ///< whether a response may have a curve at minus infinity
};

/// The column of the names of all responses, for some rows at a time: with a million names, a copy for each
/// batch would take as long as the fits.
class NameColumn {
 public:
  explicit NameColumn(std::vector<std::string> names);
  /// Calls `use` with the columns and, before them, that of the names of these responses.
  void write_with(Range responses, std::vector<OutputColumn> columns,
                  FunctionRef<void(std::span<const OutputColumn>)> use);

 private:
  OutputColumn names_;
};

/// A column with a copy of `numbers`.
[[nodiscard]] OutputColumn number_column(std::string name, std::span<const double> numbers);

}  // namespace TESSERA_NAMESPACE::gam
