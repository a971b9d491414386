// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/family.hpp"
#include "gam/rows/crossproduct_plan.hpp"

#include <tessera/device/kernel_compiler.hpp>

#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

/// The modules of the kernels that go over rows. None depends on a model: kernels read its terms from tables.
/// There are few of them, so that a build compiles all (`built_in_modules`); only the kernels of a user's
/// family, or of a built-in one with other constants, are compiled at run time. The same on every rank.
namespace TESSERA_NAMESPACE::gam {

/// term_kernels.cuh.
[[nodiscard]] ModuleSource term_module();
/// product_kernels.cuh.
[[nodiscard]] ModuleSource product_module();
/// crossproduct.cuh, for terms of at most this many quads and chunks of this many rows; `alike`: as
/// `CrossPlan::cubics`. Empty for devices on which `CrossPlan` does not run.
[[nodiscard]] ModuleSource crossproduct_module(int quads, int rows, bool alike);
/// family_kernels.cuh. Does not depend on the values of the family's parameters.
[[nodiscard]] ModuleSource family_module(const Family& family);

/// The modules of the kernels of passes and predictions.
struct RowModules {
  /// `cross`: null for predictions, which form no products.
  RowModules(const Family& family, const CrossPlan* cross);

  ModuleSource terms = term_module();
  ModuleSource products = product_module();
  ModuleSource family;
  std::optional<ModuleSource> crossproduct;  ///< empty: matrix units form no products
};

/// The modules, made at their first use: most jobs on hosts need none. Thread-safe.
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

/// All modules but those of users' families and of chosen constants.
[[nodiscard]] std::vector<ModuleSource> built_in_row_modules();

/// The module that compiles the file `kernels` of `files`; its headers are the other files, `constants` and
/// the standard headers. The module's name, `what` and a hash of the constants, identifies it.
[[nodiscard]] ModuleSource module_of(std::vector<NamedHeader> files, std::string_view kernels,
                                     NamedHeader constants, std::string_view what);

/// The files that kernels include, by the names used in #include. Embedded at build time.
[[nodiscard]] std::vector<NamedHeader> rows_kernel_files();

}  // namespace TESSERA_NAMESPACE::gam
