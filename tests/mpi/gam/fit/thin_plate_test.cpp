// SPDX-License-Identifier: Apache-2.0
// Thin plate splines agree with mgcv's bam at equal smoothing parameters, from all rows, and from the rows
// that bam samples if there are more than 10,000. tests/data/thin_plate has the script of the answers.
#include "support/fit_support.hpp"
#include "support/shared_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <tessera/tessera.hpp>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using nlohmann::json;

/// `table_of(n)` of make_thin_plate.R.
Table thin_plate_table(const Plan& plan, Range mine, std::int64_t rows) {
  std::uint32_t state = 20261124;
  const auto draw = [&] {
    state = 1664525 * state + 1013904223;
    return state / 4294967296.0;
  };
  std::vector<double> x, z, w, y;
  Factor g{{}, {"g0", "g1", "g2", "g3"}};
  for (std::int64_t row = 0; row < rows; ++row) {
    double u[6];
    for (double& one : u) one = draw();
    if (row < mine.begin || row >= mine.end) continue;
    x.push_back(u[0] * u[0] * 4);
    const double root = std::floor(u[1] * 64) / 64;
    z.push_back(root * root);
    w.push_back(1 + u[3]);
    const double level = std::floor(u[2] * 4);
    g.codes.push_back(static_cast<std::int32_t>(level));
    y.push_back((x.back() - 1) * (x.back() - 1) * 0.25 - x.back() * z.back() + 0.5 * z.back() * z.back() +
                0.125 * level + (u[4] + u[5] - 1));
    if ((row + 1) % 97 == 0) x.back() = std::numeric_limits<double>::quiet_NaN();
  }
  return {plan, {{"x", x}, {"z", z}, {"w", w}, {"g", g}, {"y", y}}};
}

std::vector<json> thin_plate_cases() {
  std::ifstream file(std::string(TESSERA_TEST_DATA) + "/thin_plate/thin_plate.json");
  const json all = json::parse(file);
  return {all.begin(), all.end()};
}

std::string formula_of_case(const json& one) {
  std::string text = one.at("formula");
  std::ranges::replace(text, '\'', '"');
  return text;
}

struct ThinPlateFit {
  FittedModel model;
  std::string text;
  Predictions predictions;
};

ThinPlateFit thin_plate_fit(const mpi::Communicator& comm, const json& one, int threads) {
  Job job = testing::cpu_job(comm, threads);
  const std::int64_t rows = one.at("rows");
  const Plan plan = job.plan(rows, 512);
  const Table data = thin_plate_table(plan, job.local_range(plan), rows);
  FitOptions options{.weights = "w"};
  const Model model = fit(job, parse_formula(formula_of_case(one)), data, options).model;
  return {model.fitted(), testing::text_of(comm, model),
          predict(job, model, data, {.standard_errors = true})};
}

/// Values of the complete rows of the job, in order.
std::vector<double> gathered_complete(const mpi::Communicator& comm, std::span<const double> mine) {
  std::vector<double> all = comm.allgatherv(mine);
  std::erase_if(all, [](double value) { return std::isnan(value); });
  return all;
}

TEST(ThinPlate, AgreesWithBamAtItsSmoothingParameters) {
  const mpi::Communicator& comm = testing::shared_world();
  for (const json& one : thin_plate_cases()) {
    SCOPED_TRACE(one.at("rows").dump() + ": " + formula_of_case(one));
    const ThinPlateFit mine = thin_plate_fit(comm, one, 2);
    const auto sp = one.at("sp").get<std::vector<double>>();
    ASSERT_EQ(mine.model.log_sp.size(), sp.size());
    std::string line = one.at("rows").dump() + "; " + formula_of_case(one);
    for (std::size_t i = 0; i < sp.size(); ++i) {
      line += "; " + json(std::exp(mine.model.log_sp[i])).dump();
      // For a smooth that is a straight line, rounding decides where the smoothing parameter ends.
      constexpr double at_infinity = 1e10;
      EXPECT_NEAR(std::exp(mine.model.log_sp[i]) / sp[i], 1, sp[i] < at_infinity ? 1e-8 : 1e-5);
    }
    const double range = one.at("range")[0];
    const std::vector<double> fits = gathered_complete(comm, mine.predictions["fit"]);
    const std::vector<double> errors = gathered_complete(comm, mine.predictions["se"]);
    const auto fit = one.at("fit").get<std::vector<double>>();
    const auto se = one.at("se").get<std::vector<double>>();
    for (std::size_t i = 0; i < fit.size(); ++i) {
      // seq(1, n, length.out = 40), truncated as R's index is.
      const auto row = static_cast<std::size_t>(
          static_cast<double>(i) * (static_cast<double>(fits.size()) - 1) / 39 + 1e-9);
      EXPECT_NEAR(fits[row], fit[i], 1e-8 * range) << i;
      EXPECT_NEAR(errors[row] / se[i], 1, 1e-8) << i;
    }
    EXPECT_NEAR(mine.model.edf_total, one.at("edf")[0].get<double>(), 1e-7);
    if (HasFailure()) std::fprintf(stderr, "%s\n", line.c_str());
  }
}

TEST(ThinPlate, HasTheSameBitsOnAnyNumberOfRanksAndThreads) {
  const mpi::Communicator& world = testing::shared_world();
  for (const json& one : thin_plate_cases()) {
    std::optional<std::string> expected;
    for (const int ranks : {1, 2, 4}) {
      if (ranks > world.size()) continue;
      const mpi::Communicator some = world.split(world.rank() < ranks ? 0 : 1);
      if (world.rank() >= ranks) continue;
      const std::string text = thin_plate_fit(some, one, 3 - ranks / 2).text;
      if (world.rank() != 0) continue;
      if (!expected) expected = text;
      EXPECT_EQ(text, *expected) << ranks;
    }
  }
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
