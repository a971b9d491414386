// SPDX-License-Identifier: Apache-2.0
// Invariant 4: the model has the same bits for any number of ranks, threads and devices of one kind.
#include "support/fit_support.hpp"
#include "support/reference_case.hpp"
#include "support/shared_world.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <tessera/tessera.hpp>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

struct Case {
  const char* folder;
  const char* simulate;  ///< TESSERA_SIMULATE, or null for the CPU
};

/// The numbers that must not change, as bits.
std::vector<std::uint64_t> bits_of(const FittedModel& model) {
  std::vector<double> numbers = model.coef;
  numbers.insert(numbers.end(), {model.reml, model.edf_total, model.edf1_total, model.scale, model.deviance,
                                 model.null_deviance, model.aic, model.r_squared_adjusted});
  numbers.insert(numbers.end(), model.log_sp.begin(), model.log_sp.end());
  numbers.insert(numbers.end(), model.family.parameters().begin(), model.family.parameters().end());
  numbers.insert(numbers.end(), model.covariance.core.values().begin(), model.covariance.core.values().end());
  for (const auto* sample : {&model.outline.linear_predictor, &model.outline.deviance_residual}) {
    numbers.insert(numbers.end(), sample->begin(), sample->end());
  }
  for (const VariableOutline& variable : model.outline.variables) {
    numbers.insert(numbers.end(), {variable.min, variable.max});
    numbers.insert(numbers.end(), variable.counts.begin(), variable.counts.end());
  }
  for (const VariableSummary& one : model.outline.summaries) {
    numbers.insert(numbers.end(), {one.least, one.median, one.greatest});
    numbers.insert(numbers.end(), one.level.begin(), one.level.end());
  }
  for (const Occupancy& one : model.outline.occupancy) {
    for (const std::string& cells : one.cells) numbers.insert(numbers.end(), cells.begin(), cells.end());
  }
  std::vector<std::uint64_t> bits;
  bits.reserve(numbers.size());
  for (const double number : numbers) bits.push_back(std::bit_cast<std::uint64_t>(number));
  return bits;
}

class Bits : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (GetParam().simulate != nullptr) ::setenv("TESSERA_SIMULATE", GetParam().simulate, 1);
  }
  void TearDown() override { ::unsetenv("TESSERA_SIMULATE"); }

  [[nodiscard]] static JobOptions options_of_job(int threads) {
    JobOptions options;
    options.policy = GetParam().simulate != nullptr ? Policy::gpu : Policy::cpu;
    options.threads = threads;
    return options;
  }
};

TEST_P(Bits, DoNotDependOnRanksOrThreads) {
  const testing::ReferenceCase reference = testing::load_reference_case(GetParam().folder);
  const FitOptions options = testing::options_of(reference);
  const Table file = testing::in_blocks(reference.data_path, 64);  // many blocks, and a short last one
  std::optional<std::vector<std::uint64_t>> expected;
  testing::for_each_division([&](const mpi::Communicator& some, int threads) {
    Job job(some, options_of_job(threads));
    const FitResult result = fit(job, parse_formula(reference.formula), file, options);
    if (testing::shared_world().rank() != 0) return;
    const auto bits = bits_of(result.model.fitted());
    if (!expected) expected = bits;
    EXPECT_EQ(bits, *expected) << some.size() << " ranks, " << threads << " threads";
  });
  if (testing::shared_world().rank() != 0) return;
  Job without_mpi(mpi::Communicator::serial(), options_of_job(2));
  const FitResult result = fit(without_mpi, parse_formula(reference.formula), file, options);
  EXPECT_EQ(bits_of(result.model.fitted()), *expected) << "without MPI";
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Bits,
    ::testing::Values(Case{"c06_gs4_by_factor", nullptr}, Case{"c04_gs1_binary", nullptr},
                      Case{"c08b_gs2_te_default", nullptr}, Case{"c06_gs4_by_factor", "*:2xH200"},
                      Case{"c03_gs1_poisson", "rank0:H200; rank1:2xA100; *:T4"}, Case{"e04_ordered", nullptr},
                      Case{"e06_of_all_rows", nullptr}, Case{"n02_nb_offset_weights", nullptr},
                      Case{"n02_nb_offset_weights", "*:2xH200"}, Case{"f01_fs_cr", nullptr},
                      Case{"f02_fs_tp", nullptr}, Case{"f01_fs_cr", "*:2xH200"}, Case{"t01_t2", nullptr},
                      Case{"t03_t2_random", nullptr}, Case{"t02_t2_full", "*:2xH200"},
                      Case{"s03_sz_poisson", nullptr}, Case{"s04_sz_of_two_factors", nullptr},
                      Case{"s04_sz_of_two_factors", "*:2xH200"}, Case{"a02_select_poisson", nullptr},
                      Case{"a05_sp", nullptr}, Case{"a12_select_point", nullptr},
                      Case{"o02_ocat_offset_weights", nullptr}, Case{"v02_cnorm_offset_weights", nullptr},
                      Case{"v07_cpois_offset", nullptr}, Case{"z02_zip_offset", nullptr},
                      Case{"z02_zip_offset", "*:2xH200"}),
    [](const auto& tested) {
      return std::string(tested.param.folder) + (tested.param.simulate != nullptr ? "_simulated" : "");
    });

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
