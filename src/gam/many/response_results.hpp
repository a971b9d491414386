// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/output/table_output.hpp"
#include "gam/inference/term_tests.hpp"
#include "gam/many/response_fit.hpp"
#include "gam/model/fitted_response.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The results of one response, in the formula's coefficients; NaN where there is no number.
struct ResponseRow {
  ManyStatus status = ManyStatus::failed;
  ManyReason reason = ManyReason::none;
  int limits = -1;                 ///< index among `limit_names`; -1: not fitted
  bool on_device = false;          ///< its rows were summed by a GPU
  std::vector<double> values{};    ///< by column of numbers
  std::vector<double> p_values{};  ///< by test
  std::vector<double> matrices{};  ///< the rows of `ResponseResults::matrices`, one after the other
};

/// The columns of the results of all responses.
class ResponseResults {
 public:
  /// The design must outlive it. `model`: the model that all responses share. `covariances`: with these and
  /// what belongs to them, as `matrices`.
  ResponseResults(const SharedDesign& design, const FittedModel& model, const ManyEstimator& estimator,
                  bool covariances);

  /// Thread-safe. Cost: O(p^3) for p coefficients; p values of smooths cost most. Without tests and
  /// covariances the p values are NaN.
  [[nodiscard]] ResponseRow row_of(const ResponseFit& fit, bool with_tests = true) const;
  /// What is tested: a parametric coefficient (Wald), a parametric term of several (Wald, jointly), or a
  /// smooth (Wood 2013).
  [[nodiscard]] const std::vector<std::string>& tests() const noexcept { return tests_; }
  /// The names of `ResponseRow::values`.
  [[nodiscard]] const std::vector<std::string>& value_names() const noexcept { return columns_; }

  /// The columns for some rows. `names`: names of all responses; `first`: index of the first row. The columns
  /// own their values.
  [[nodiscard]] std::vector<OutputColumn> columns(std::span<const ResponseRow> rows,
                                                  const std::vector<std::string>& names,
                                                  std::int64_t first) const;
  [[nodiscard]] std::vector<OutputMatrix> matrices(std::span<const ResponseRow> rows) const;
  /// A row as numbers, for checkpoints, and their number, the same for every row. `row_from` throws
  /// `Error(input)` for others.
  [[nodiscard]] std::size_t row_size() const;
  [[nodiscard]] std::vector<double> numbers_of(const ResponseRow& row) const;
  [[nodiscard]] ResponseRow row_from(std::span<const double> numbers) const;
  [[nodiscard]] static OutputColumn name_column(const std::vector<std::string>& names, std::int64_t first,
                                                std::int64_t count);

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
  bool absent_curves_ = false;  ///< whether a response may have curves at minus infinity
};

/// A column with a copy of `numbers`.
[[nodiscard]] OutputColumn number_column(std::string name, std::span<const double> numbers);

}  // namespace TESSERA_NAMESPACE::gam
