// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/kernel_source.hpp"

#include "base/hash.hpp"
#include "gam/rows/slice_batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Assertions that host and device compilers agree on structure layouts.
std::string layout_checks() {
  return fmt::format(
      "static_assert(sizeof(SliceBatchView) == {} && sizeof(PredictionView) == {} && sizeof(Task) == {} && "
      "sizeof(Product) == {} && sizeof(ComponentTable) == {} && sizeof(TermTable) == {});\n",
      sizeof(SliceBatchView), sizeof(PredictionView), sizeof(Task), sizeof(Product), sizeof(ComponentTable),
      sizeof(TermTable));
}

/// The module of a kernel file; its `rows_constants.hpp` defines `constants` in namespace `fixed`.
ModuleSource row_module(std::string_view kernels, std::string_view what, std::string_view includes = {},
                        std::string_view constants = {}) {
  return module_of(rows_kernel_files(), kernels,
                   {"rows_constants.hpp",
                    fmt::format("#pragma once\n{}#include \"gam/rows/slice_batch.hpp\"\n"
                                "namespace TESSERA_NAMESPACE::gam {{\n{}namespace fixed {{\n{}}}\n}}\n",
                                includes, layout_checks(), constants)},
                   what);
}

/// The headers that a text includes, directly or indirectly. Others must not affect the module's hash.
std::vector<NamedHeader> headers_of(const std::string& text, std::vector<NamedHeader> all) {
  std::vector<std::string> names;
  const auto take_included = [&](std::string_view of) {
    constexpr std::string_view include = "#include ";
    for (std::size_t at = of.find(include); at != std::string_view::npos; at = of.find(include, at)) {
      at += include.size() + 1;
      std::string name(of.substr(at, of.find_first_of("\">", at) - at));
      if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    }
  };
  take_included(text);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto header = std::ranges::find(all, names[i], &NamedHeader::name);
    if (header != all.end()) take_included(header->text);
  }
  std::erase_if(
      all, [&](const NamedHeader& header) { return std::ranges::find(names, header.name) == names.end(); });
  return all;
}

/// Families that a build compiles kernels for, with each link.
std::vector<Family> families_of_build() {
  std::vector<Family> families;
  for (const Family& family : built_in_families()) {
    for (const std::string_view link : family.link_names()) {
      const Family linked = *family.linked(link);
      families.push_back(linked);
      for (const int side : {-1, 1})
        if (linked.has_two_sides()) families.push_back(linked.on_side(side));
    }
  }
  for (const std::string_view name : several_family_names())
    families.push_back(chosen_family(std::string(name)));
  constexpr int most_classes = 6;
  for (int classes = 3; classes <= most_classes; ++classes) {
    families.push_back(chosen_family(fmt::format("ocat(R={})", classes)));
    families.push_back(chosen_family(fmt::format("multinom(K={})", classes - 1)));
  }
  return families;
}

}  // namespace

ModuleSource module_of(std::vector<NamedHeader> files, std::string_view kernels, NamedHeader constants,
                       std::string_view what) {
  ModuleSource source;
  const auto text = std::ranges::find(files, kernels, &NamedHeader::name);
  source.text = std::move(text->text);
  source.name = fmt::format("{} {}", what, base::hex(base::fnv1a(constants.text)));
  files.erase(text);
  files.push_back(std::move(constants));
  std::ranges::move(standard_headers(), std::back_inserter(files));
  source.headers = headers_of(source.text, std::move(files));
  // --fmad is explicit because it affects rounding.
  source.options = {"--std=c++20", "--device-as-default-execution-space", "--fmad=true"};
  return source;
}

ModuleSource term_module() {
  return row_module("gam/rows/term_kernels.cuh", "terms");
}

ModuleSource product_module() {
  return row_module("gam/rows/product_kernels.cuh", "products");
}

ModuleSource crossproduct_module(int quads, int rows, bool alike) {
  const CrossTiling tiling = cross_tiling(quads);
  return row_module(
      "gam/rows/crossproduct.cuh", "crossproduct", "#include \"gam/rows/crossproduct.hpp\"\n",
      fmt::format(
          "constexpr CrossTiling tiling = {{{}, {}, {}}};\nconstexpr int rows = {};\nconstexpr bool alike = "
          "{};\n"
          "static_assert(sizeof(CrossTask) == {} && sizeof(CrossTerm) == {} && sizeof(CrossView) == {});\n",
          tiling.windows, tiling.halves, tiling.tiles, rows, alike, sizeof(CrossTask), sizeof(CrossTerm),
          sizeof(CrossView)));
}

ModuleSource family_module(const Family& family) {
  return row_module("gam/rows/family_kernels.cuh", "family",
                    "#include \"gam/family/list.hpp\"\n#include \"gam/family/location_scale.hpp\"\n"
                    "#include \"gam/family/user_functions.hpp\"\n#include \"gam/family/several_row.hpp\"\n",
                    family.device_source());
}

RowModules::RowModules(const Family& of_rows, const CrossPlan* cross) : family(family_module(of_rows)) {
  if (cross != nullptr && !cross->empty())
    crossproduct = crossproduct_module(cross->quads, cross->shape.rows, cross->cubics.has_value());
}

std::vector<ModuleSource> built_in_row_modules() {
  std::vector<ModuleSource> modules{term_module(), product_module()};
  for (int quads = 1; quads <= cross_quads_limit; ++quads) {
    for (int rows = cross_rows_step; rows <= cross_rows_limit; rows += cross_rows_step)
      for (const bool alike : {false, true}) modules.push_back(crossproduct_module(quads, rows, alike));
  }
  std::set<std::string> names;  // families may have equal modules
  for (const Family& family : families_of_build()) {
    ModuleSource module = family_module(family);
    if (names.insert(module.name).second) modules.push_back(std::move(module));
  }
  return modules;
}

}  // namespace TESSERA_NAMESPACE::gam
