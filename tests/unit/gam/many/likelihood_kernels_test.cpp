// SPDX-License-Identifier: Apache-2.0
// NVRTC, if present, compiles the kernels that sum over the rows of many responses. It needs no GPU.
#include "gam/many/likelihood_kernel_source.hpp"
#include "gam/many/likelihood_layout.hpp"
#include "support/expect_kernels.hpp"
#include "support/many_model.hpp"

#include <tessera/device/kernel_compiler.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

constexpr int rows = 300;

ManyModel model_of(const char* terms, double scale = 1) {
  std::vector<double> t;
  Factor lineage{.codes = {}, .levels = {"a", "b"}};
  for (int i = 0; i < rows; ++i) {
    t.push_back(scale * i);
    lineage.codes.push_back(i % 2);
  }
  return {{{"t", t}, {"lineage", lineage}}, rows, terms};
}

constexpr const char* kernel_lineages = "lineage + s(t, by = lineage, k = 6)";

TEST(LikelihoodKernels, HaveASourceThatDependsOnSizesOnly) {
  const ModuleSource source =
      likelihood_kernel_source(LikelihoodLayout(model_of(kernel_lineages).design()), ManyFamily::nb);
  EXPECT_EQ(
      likelihood_kernel_source(LikelihoodLayout(model_of(kernel_lineages, 3).design()), ManyFamily::nb).name,
      source.name);
  EXPECT_NE(
      likelihood_kernel_source(LikelihoodLayout(model_of(kernel_lineages).design()), ManyFamily::gamma).name,
      source.name);
  EXPECT_NE(likelihood_kernel_source(LikelihoodLayout(model_of("s(t, k = 5)").design()), ManyFamily::nb).name,
            source.name);
}

TEST(LikelihoodKernels, HaveEveryRowInOneChunk) {
  const ManyModel model = model_of(kernel_lineages);
  const LikelihoodLayout layout(model.design());
  std::vector<int> seen(model.design().slots());
  for (const LikelihoodChunk& chunk : layout.chunks) {
    for (int row = chunk.begin; row < chunk.end; ++row)
      ++seen[static_cast<std::size_t>(layout.groups[static_cast<std::size_t>(chunk.group)].first_slot + row)];
  }
  EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
}

struct KernelCase {
  const char* name;
  const char* terms;
  ManyFamily family;
};
class LikelihoodKernelsOf : public ::testing::TestWithParam<KernelCase> {};

TEST_P(LikelihoodKernelsOf, Compile) {
  expect_kernels(
      likelihood_kernel_source(LikelihoodLayout(model_of(GetParam().terms).design()), GetParam().family),
      "sm_90", {"gather_inputs", "sum_rows", "add_chunks"});
}

INSTANTIATE_TEST_SUITE_P(, LikelihoodKernelsOf,
                         ::testing::Values(KernelCase{"InRegisters", kernel_lineages, ManyFamily::nb},
                                           KernelCase{"InTiles", "lineage + s(t, k = 15)",
                                                      ManyFamily::binomial},
                                           KernelCase{"OfGamma", kernel_lineages, ManyFamily::gamma}),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
