// SPDX-License-Identifier: Apache-2.0
// The BLAS kernels on a processor that is unknown to OpenBLAS.
#include "base/blas_kernels.hpp"
#include "example.hpp"
#include "info/run_program.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace tessera {
namespace {

const std::string on_unknown_processor = "env -u OPENBLAS_CORETYPE LD_PRELOAD=" TESSERA_UNKNOWN_PROCESSOR " ";

std::string kernels_expected() {
  const char* const better = base::better_kernels("Prescott", base::registers_here());
  return better != nullptr ? better : "Prescott";
}

/// The kernels in the run report of a fit in this environment; empty if its BLAS is not OpenBLAS.
std::string kernels_of_fit(const std::string& environment) {
  const ScratchFile table(example_table());
  const ScratchFile model;
  const ScratchFile report;
  successful(run(environment + TESSERA_FIT " fit " + table.path() + " --formula 'y ~ x' --out " +
                 model.path() + " --run-report " + report.path()));
  const auto kernels = nlohmann::json::parse(report.text()).at("blas_kernels");
  return kernels.is_null() ? std::string() : kernels.get<std::string>();
}

std::string kernels_of_info(const std::string& environment) {
  const auto result = successful(run(environment + TESSERA_INFO " --json --policy cpu"));
  const auto report = nlohmann::json::parse(result.out);
  for (const auto& one : report.at("software"))
    if (one.at("what") == "BLAS kernels") return one.at("version").get<std::string>();
  return {};
}

class FitKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kernels_of_fit("env OPENBLAS_CORETYPE=Prescott ") != "Prescott")
      GTEST_SKIP() << "this BLAS is no OpenBLAS with kernels for every processor";
  }
};

TEST_F(FitKernels, AreThoseThatTheProcessorAllows) {
  EXPECT_EQ(kernels_of_fit(on_unknown_processor), kernels_expected());
  EXPECT_EQ(kernels_of_info(on_unknown_processor), kernels_expected());
}

TEST_F(FitKernels, AreTheUsersWhereHeNamesSome) {
  EXPECT_EQ(kernels_of_info("env OPENBLAS_CORETYPE=Nehalem "), "Nehalem");
}

#ifdef TESSERA_GAM_LIBRARY
/// OpenBLAS reports its choice. The host, whose own BLAS is not preloaded, ends with 1.
TEST_F(FitKernels, OfTheLibrarysOwnCopyAreSoToo) {
  const auto result = run(on_unknown_processor + "OPENBLAS_VERBOSE=2 " TESSERA_UNLOADING_HOST
                                                 " " TESSERA_GAM_LIBRARY " private");
  EXPECT_NE(result.err.find("Core: Prescott\nCore: " + kernels_expected() + '\n'), std::string::npos)
      << result.err;
}
#endif

}  // namespace
}  // namespace tessera
