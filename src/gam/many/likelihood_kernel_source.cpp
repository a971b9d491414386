// SPDX-License-Identifier: Apache-2.0
#include "gam/many/likelihood_kernel_source.hpp"

#include "gam/many/likelihood_view.hpp"
#include "gam/rows/kernel_source.hpp"

#include <fmt/format.h>

#include <set>
#include <string>

namespace TESSERA_NAMESPACE::gam {
namespace {

const char* row_of(ManyFamily family) {
  switch (family) {
    case ManyFamily::nb: return "NbRow";
    case ManyFamily::poisson: return "PoissonRow";
    case ManyFamily::binomial: return "BinomialRow";
    case ManyFamily::gaussian: return "GaussianRow";
    case ManyFamily::gamma: return "GammaRow";
  }
  return "";
}

std::string constants(const LikelihoodLayout& layout, ManyFamily family) {
  std::string text = fmt::format(R"(#pragma once
namespace {0}::gam {{
template <int n>
struct Number;
namespace fixed {{
template <class Math>
using Family = {1}<Math>;
constexpr bool is_nb = {2};
constexpr bool is_gamma = {3};
constexpr int parameters = {4};
constexpr bool has_tiles = {5};
template <class Do>
void for_each_size(Do&& work) {{
)",
                                 "TESSERA_NAMESPACE", row_of(family), family == ManyFamily::nb,
                                 family == ManyFamily::gamma, layout.parameters, layout.has_tiles);
  std::set<int> sizes;
  for (const LikelihoodGroup& group : layout.groups)
    if (group.columns <= most_columns_in_registers) sizes.insert(group.columns);
  for (const int size : sizes) text += fmt::format("  work(Number<{}>{{}});\n", size);
  // Checks that the host and device compilers agree on structure layouts.
  return text + fmt::format(
                    "}}\nstatic_assert(sizeof(LikelihoodGroup) == {} && sizeof(LikelihoodRequest) == {} && "
                    "sizeof(LikelihoodBatch) == {});\n}}  // namespace fixed\n}}\n",
                    sizeof(LikelihoodGroup), sizeof(LikelihoodRequest), sizeof(LikelihoodBatch));
}

}  // namespace

ModuleSource likelihood_kernel_source(const LikelihoodLayout& layout, ManyFamily family) {
  return module_of(likelihood_kernel_files(), "gam/many/likelihood_kernels.cuh",
                   {"likelihood_constants.hpp", constants(layout, family)}, "many models");
}

}  // namespace TESSERA_NAMESPACE::gam
