// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

class Family;

/// The distribution of a response and its link function. An immutable value, cheap to copy; a move is a copy.
/// Any thread may read it.
class TESSERA_EXPORT ResponseFamily {
 public:
  /// The gaussian family with the identity link.
  ResponseFamily();

  ResponseFamily(const ResponseFamily&) = default;
  ResponseFamily& operator=(const ResponseFamily&) = default;
  ~ResponseFamily() = default;

  [[nodiscard]] std::string_view name() const;

  /// For the library: conversion from and to its internal type `Family`.
  explicit ResponseFamily(std::shared_ptr<const Family> definition) : definition_(std::move(definition)) {}
  [[nodiscard]] const Family& definition() const noexcept { return *definition_; }
  /// The file of a custom family; empty for a built-in one.
  [[nodiscard]] const std::string& file() const noexcept { return file_; }

 private:
  friend ResponseFamily family(const std::string& text);

  std::shared_ptr<const Family> definition_;
  std::string file_;
};

/// The built-in families: "gaussian", "binomial", "poisson", "gamma", "nb", "inverse.gaussian",
/// "quasipoisson", "quasibinomial", "quasi", "tweedie", "tw", "scat", "betar", "ocat", "cnorm", "clog",
/// "cpois", "elf", "zip"; and those with several linear predictors: "gaulss", "gammals", "gumbls", "gevlss",
/// "shash", "twlss", "ziplss", "multinom".
[[nodiscard]] TESSERA_EXPORT std::vector<std::string> family_names();

/// Parses a family in R's syntax, ignoring case. A built-in family has mgcv's default link (log for gamma)
/// unless a link is given: `poisson`, `binomial(probit)`, `Gamma(link = "inverse")`, `nb(theta = 3)`; `@FILE`
/// is a custom family, defined by expressions in TOML (docs/fit.md), possibly with several linear predictors.
/// A fit estimates the parameters of `nb`, `tw`, `scat`, `betar`, `zip`, `ocat(R = 4)` (with R classes),
/// `cnorm` and `clog`, unless they are given. `elf(qu = 0.9)` fits a quantile; the fit chooses the parameters
/// of its loss like qgam. Families such as `gaulss`, `gaulss(b = 0.02)` and `multinom(K = 2)` have several
/// linear predictors, and need a list of as many formulas. Throws `Error(usage)` for another name, link or
/// parameter, and `Error(input)`, with the line, for a file that cannot be read or is not a family. Not
/// collective; a fit checks that all ranks have read the same file.
[[nodiscard]] TESSERA_EXPORT ResponseFamily family(const std::string& text);

}  // namespace TESSERA_NAMESPACE::gam
