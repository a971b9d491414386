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

/// The distribution and link of a response: gaussian with the identity link by default. An immutable value,
/// cheap to copy; a move is a copy. Any thread may read it.
class TESSERA_EXPORT ResponseFamily {
 public:
  /// The gaussian family with the identity link.
  ResponseFamily();

  ResponseFamily(const ResponseFamily&) = default;
  ResponseFamily& operator=(const ResponseFamily&) = default;
  ~ResponseFamily() = default;

  [[nodiscard]] std::string_view name() const;

  /// Conversion from and to the engine's representation; not a public type.
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

/// A built-in family with mgcv's default link (log for gamma) or another, as R's users write it, in letters
/// of any case: `poisson`, `binomial(probit)`, `Gamma(link = "inverse")`, `nb(theta = 3)`; or `@FILE`: a
/// custom family, as expressions in TOML (docs/fit.md), also of several linear predictors. A fit estimates
/// the parameters of `nb`, `tw`, `scat`, `betar`, `zip`, `ocat(R = 4)`, whose number of classes is R, `cnorm`
/// and `clog`, unless they are given. `elf(qu = 0.9)` is a quantile, whose loss the fit chooses as qgam does.
/// With several linear predictors: `gaulss`, `gaulss(b = 0.02)`, `multinom(K = 2)`; the formula is then a
/// list of as many formulas. Throws `Error(usage)` for another name, link or parameter, and `Error(input)`,
/// with the line, for a file that cannot be read or is not a family. Not collective: a fit checks that all
/// ranks have read the same file.
[[nodiscard]] TESSERA_EXPORT ResponseFamily family(const std::string& text);

}  // namespace TESSERA_NAMESPACE::gam
