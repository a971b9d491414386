// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/formula/expression.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

inline constexpr std::size_t most_arguments = 6;

/// A user's function: an expression over named numeric arguments.
class FamilyFunction {
 public:
  FamilyFunction() = default;
  /// Throws `Error(usage)` if the text is not an expression, or uses variables other than `arguments`. With
  /// `on_devices`, also throws for operations that kernels lack, such as comparisons.
  FamilyFunction(std::string_view text, const std::vector<std::string>& arguments, bool on_devices = true);

  [[nodiscard]] double operator()(std::span<const double> arguments) const {
    std::array<double, most_arguments> given{};
    for (std::size_t i = 0; i < indices_.size(); ++i) given[i] = arguments[indices_[i]];
    return expression_.evaluate(std::span(given).first(indices_.size()));
  }
  [[nodiscard]] double operator()(double first) const { return (*this)(std::span(&first, 1)); }
  [[nodiscard]] double operator()(double first, double second) const {
    return (*this)(std::array{first, second});
  }
  [[nodiscard]] const std::string& text() const noexcept { return expression_.text; }
  [[nodiscard]] bool empty() const noexcept { return expression_.steps.empty(); }
  [[nodiscard]] const Expression& expression() const noexcept { return expression_; }
  /// Index in `arguments` of each variable of the expression.
  [[nodiscard]] std::span<const std::size_t> indices() const noexcept { return indices_; }
  /// CUDA C++ expression over variables named like the arguments. Calls functions of user_functions.hpp.
  [[nodiscard]] std::string device_expression() const;

  friend bool operator==(const FamilyFunction&, const FamilyFunction&) = default;

 private:
  Expression expression_;
  std::vector<std::size_t> indices_;
};

}  // namespace TESSERA_NAMESPACE::gam
