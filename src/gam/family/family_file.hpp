// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/family_function.hpp"

#include <toml++/toml.h>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A parsed TOML file of a user's family. Errors are `Error(usage)` with the origin, the line and advice.
class FamilyFile {
 public:
  FamilyFile(std::string_view toml, std::string origin);

  [[nodiscard]] bool has(const char* key) const { return table_.get(key) != nullptr; }
  void require_known(std::span<const char* const> keys) const;
  /// Null if the key is absent.
  [[nodiscard]] const toml::value<std::string>* text(const char* key) const;
  [[nodiscard]] std::string name() const;
  /// An integer in [least, most]; the key must be present.
  [[nodiscard]] int number(const char* key, int least, int most) const;
  [[nodiscard]] FamilyFunction function(const char* key, const std::vector<std::string>& arguments) const;
  /// A condition on the response y with value 1 if true; empty if the key is absent.
  [[nodiscard]] FamilyFunction condition(const char* key) const;
  /// A list of `count` expressions; empty if the key is absent.
  [[nodiscard]] std::vector<FamilyFunction> functions(const char* key, std::size_t count,
                                                      const std::vector<std::string>& arguments) const;
  [[noreturn]] void refuse(const toml::node& where, std::string_view why) const;

 private:
  [[nodiscard]] FamilyFunction function_of(const char* key, const toml::value<std::string>& text,
                                           const std::vector<std::string>& arguments,
                                           bool on_devices = true) const;

  std::string origin_;
  toml::table table_;
};

}  // namespace TESSERA_NAMESPACE::gam
