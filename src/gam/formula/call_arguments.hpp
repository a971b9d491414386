// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/formula/syntax.hpp"

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Arguments of a call, matched by R's rules: first by name, which may be abbreviated, then by position.
/// Members throw `Error(usage)`, with the position in the formula, for a value of another type than
/// requested. The call must outlive this object.
class CallArguments {
 public:
  /// Throws `Error(usage)` for an argument that the function lacks, and for a missing first argument.
  CallArguments(const Syntax& call, std::initializer_list<std::string_view> formals);

  [[nodiscard]] const Syntax& first() const { return *given_[0]; }
  /// The value of a formal argument; null if it is absent or NULL.
  [[nodiscard]] const Syntax* find(std::string_view name) const;
  [[nodiscard]] std::optional<std::vector<double>> numbers(std::string_view name) const;
  /// The texts of an argument; a number becomes the text of its level.
  [[nodiscard]] std::optional<std::vector<std::string>> texts(std::string_view name) const;
  [[nodiscard]] bool truth(std::string_view name, bool otherwise) const;
  [[nodiscard]] int whole(std::string_view name, int otherwise, int least, int most) const;
  [[noreturn]] void refuse(const Syntax& value, std::string_view name, std::string_view expected) const;

 private:
  [[nodiscard]] std::vector<std::string> names() const { return {formals_.begin(), formals_.end()}; }
  [[nodiscard]] std::size_t place_of(const std::string& name, const Syntax& value) const;

  const Syntax& call_;
  std::vector<std::string_view> formals_;
  std::vector<const Syntax*> given_;
};

/// The factor level of a number, as text.
[[nodiscard]] std::string level_of(double number);

}  // namespace TESSERA_NAMESPACE::gam
