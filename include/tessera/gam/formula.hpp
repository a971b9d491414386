// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/error.hpp>
#include <tessera/gam/matrix.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

struct FormulaTerms;

/// Penalties of a parametric term, like `paraPen` of mgcv's gam: the sum of lambda b'S b over the matrices S,
/// for the term's coefficients b. Each S is symmetric and positive semidefinite, with a row for each
/// coefficient of the term.
struct ParametricPenalty {
  std::vector<Matrix> matrices{};
  std::vector<int> ranks{};  ///< ranks of the matrices, which the fit checks; empty: not checked
  std::vector<double> sp{};  ///< values of lambda; negative: estimated; empty: all are estimated
  friend bool operator==(const ParametricPenalty&, const ParametricPenalty&) = default;
};

/// An invalid formula, with the positions of all errors. `what()` has all errors in one line. A move is a
/// copy.
class TESSERA_EXPORT FormulaError : public Error {
 public:
  struct Refusal {
    std::size_t position;  ///< offset in the formula, in bytes
    std::string message;
  };
  explicit FormulaError(std::vector<Refusal> refusals);
  FormulaError(const FormulaError&) = default;
  FormulaError& operator=(const FormulaError&) = default;
  ~FormulaError() override = default;

  [[nodiscard]] const std::vector<Refusal>& refusals() const noexcept { return *refusals_; }
  /// The errors, one per line, followed by the formula with a caret below each position.
  [[nodiscard]] std::string in_lines(std::string_view formula) const;

 private:
  std::shared_ptr<const std::vector<Refusal>> refusals_;  // shared: copying an exception must not throw
};

/// A parsed model formula. An immutable value, cheap to copy; a move is a copy. Any thread may read it.
class TESSERA_EXPORT Formula {
 public:
  Formula(const Formula&) = default;
  Formula& operator=(const Formula&) = default;
  ~Formula() = default;

  /// The formula's text, with normalised blanks.
  [[nodiscard]] const std::string& text() const noexcept;
  /// Names of the table's columns that the formula reads, without duplicates, in order of appearance; the
  /// columns of the response come first.
  [[nodiscard]] std::vector<std::string> columns() const;

  /// For the library: its internal type.
  [[nodiscard]] const FormulaTerms& terms() const noexcept { return *terms_; }

 private:
  friend Formula parse_formula(std::string_view text);
  explicit Formula(std::shared_ptr<const FormulaTerms> terms) : terms_(std::move(terms)) {}

  std::shared_ptr<const FormulaTerms> terms_;
};

/// Parses a formula in the syntax of R and mgcv: `y ~ site + s(x, bs="ps", k=20)`, or a list with a formula
/// for each linear predictor of a family, `list(y ~ s(x), ~ s(z))`. docs/fit.md lists the supported terms.
/// Throws `FormulaError`, an `Error(usage)`, for any other text, including terms that only mgcv supports,
/// with the position of the error and what was expected there. If the syntax is valid, the errors of all
/// terms are reported at once. Pure. Cost: linear in the length of the text.
[[nodiscard]] TESSERA_EXPORT Formula parse_formula(std::string_view text);

}  // namespace TESSERA_NAMESPACE::gam
