// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/family.hpp"
#include "gam/rows/crossproduct_plan.hpp"

#include <tessera/device/kernel_compiler.hpp>

#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

/// Modules of the kernels that process rows. They do not depend on a model: kernels read its terms from
/// tables. The build compiles all (`built_in_modules`), except for users' families and non-default constants
/// of built-in families, which are compiled at run time. Equal on every rank.
namespace TESSERA_NAMESPACE::gam {

/// term_kernels.cuh.
[[nodiscard]] ModuleSource term_module();
/// product_kernels.cuh.
[[nodiscard]] ModuleSource product_module();
/// crossproduct.cuh, for terms of at most `quads` quads and chunks of `rows` rows; `alike`:
/// `CrossPlan::cubics` is set. Empty for devices for which `CrossPlan::runs_on` is false.
[[nodiscard]] ModuleSource crossproduct_module(int quads, int rows, bool alike);
/// family_kernels.cuh. Does not depend on the values of the family's parameters.
[[nodiscard]] ModuleSource family_module(const Family& family);

/// All modules of a pass or prediction.
struct RowModules {
  /// `cross`: null for predictions.
  RowModules(const Family& family, const CrossPlan* cross);

  ModuleSource terms = term_module();
  ModuleSource products = product_module();
  ModuleSource family;
  std::optional<ModuleSource> crossproduct;  ///< empty if the pass does not use tensor cores
};

/// Creates the modules at first use: most CPU jobs need none. Thread-safe.
class LazyRowModules {
 public:
  [[nodiscard]] const RowModules& get(const Family& family, const CrossPlan* cross) const {
    std::call_once(made_, [&] { modules_.emplace(family, cross); });
    return *modules_;
  }

 private:
  mutable std::once_flag made_;
  mutable std::optional<RowModules> modules_;
};

/// All modules except those of users' families and non-default constants.
[[nodiscard]] std::vector<ModuleSource> built_in_row_modules();

/// The module of the file `kernels` of `files`. Its headers are the other files, `constants`, and the
/// standard headers. Its name is `what` and a hash of `constants`.
[[nodiscard]] ModuleSource module_of(std::vector<NamedHeader> files, std::string_view kernels,
                                     NamedHeader constants, std::string_view what);

/// Files that kernels include, with the names used in #include. Embedded at build time.
[[nodiscard]] std::vector<NamedHeader> rows_kernel_files();

}  // namespace TESSERA_NAMESPACE::gam
