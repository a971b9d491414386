// SPDX-License-Identifier: Apache-2.0
// A generalized additive model of data in memory: visits by the hour of the day, at three sites.
#include <tessera/gam/gam.hpp>
#include <tessera/tessera.hpp>

#include <cmath>
#include <cstdint>
#include <iostream>
#include <vector>

namespace gam = tessera::gam;

int main(int argc, char** argv) {
  tessera::mpi::Session session(argc, argv);
  tessera::Job job(session.world());

  const tessera::Plan plan = job.plan(20'000, 1024);  // rows, and those whose order of addition is fixed
  const tessera::Range mine = job.local_range(plan);  // this rank has these rows, and makes no others
  std::vector<double> visits;
  std::vector<double> hours;
  gam::Factor sites{.codes = {}, .levels = {"bay", "cape", "dune"}};
  for (std::int64_t row = mine.begin; row < mine.end; ++row) {
    sites.codes.push_back(static_cast<std::int32_t>(row % 3));
    hours.push_back(std::fmod(0.618034 * static_cast<double>(row), 24));
    const double mean = std::exp(1 + 0.5 * static_cast<double>(row % 3) + std::sin(hours.back() * 0.261799));
    visits.push_back(std::floor(mean * (0.5 + std::fmod(0.754878 * static_cast<double>(row), 1))));
  }
  const gam::Table table{plan, {{"visits", visits}, {"hour", hours}, {"site", sites}}};

  const gam::Formula formula = gam::parse_formula(R"(visits ~ site + s(hour, bs="cc", k=12))");
  const gam::FitResult result = gam::fit(job, formula, table, {.family = gam::family("poisson")});
  if (session.is_root()) std::cout << gam::summary(result.model);
}
