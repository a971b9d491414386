// SPDX-License-Identifier: Apache-2.0
// The search for smoothing parameters ends at the lowest optimum, over random designs.
#include "gam/linalg/linalg.hpp"
#include "gam/reml/reml.hpp"
#include "gam/reml/search.hpp"
#include "support/random_models.hpp"
#include "temporary_folder.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

constexpr std::uint64_t designs = 280;
constexpr int random_starts = 6;
/// Designs, among many thousands, in which a descent from the default ends above the lowest optimum.
constexpr std::array<std::uint64_t, 11> difficult{25, 61, 81, 128, 143, 163, 1341, 3748, 3897, 4586, 4590};

/// A random model with its criterion and its fit.
struct Case {
  explicit Case(std::uint64_t from)
      : seed(from),
        random(random_model(from)),
        bases(penalty_bases(random.model.design())),
        criterion(random.working, random.model.design(), bases, random.scale_known, algebra) {}
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  [[nodiscard]] RemlFit fit(Search search = Search::global) const { return fit(algebra, search); }
  [[nodiscard]] RemlFit fit(const Algebra& by, Search search = Search::global) const {
    return fit_reml(random.working, random.model.design(), bases, random.scale_known, {}, by, search);
  }
  [[nodiscard]] std::string told(const std::vector<double>& log_sp) const {
    return fmt::format("seed {}, {}, log sp {:.3f}", seed, random.formula, fmt::join(log_sp, " "));
  }

  std::uint64_t seed;
  RandomModel random;
  HostAlgebra algebra;
  std::vector<BlockBasis> bases;
  RemlCriterion criterion;
};

double tolerance(double score) {
  return 1e-6 * (1 + std::abs(score));
}

/// Either tail of every parameter, with the others at the fit, and random points.
std::vector<std::vector<double>> other_starts(const Case& one, const RemlFit& fit) {
  const std::vector<double>& centre = one.criterion.default_start();
  std::vector<std::vector<double>> starts;
  for (std::size_t j = 0; j < centre.size(); ++j) {
    for (const double by : {9.0, -9.0}) {
      starts.push_back(fit.log_sp);
      starts.back()[j] = centre[j] + by;
    }
  }
  std::mt19937_64 random(one.seed);
  for (int i = 0; i < random_starts; ++i) {
    starts.push_back(centre);
    for (double& v : starts.back()) v += 24 * (static_cast<double>(random() >> 11) * 0x1p-53) - 12;
  }
  return starts;
}

void expect_the_lowest(std::uint64_t seed) {
  const Case one(seed);
  const RemlFit fit = one.fit();
  EXPECT_TRUE(fit.converged) << one.told(fit.log_sp);
  for (const std::vector<double>& start : other_starts(one, fit)) {
    const auto other = descend(one.criterion, start);
    if (!other) continue;
    EXPECT_GE(other->at.value, fit.score - tolerance(fit.score))
        << one.told(fit.log_sp) << ", lower at " << fmt::format("{:.3f}", fmt::join(other->log_sp, " "))
        << " from " << fmt::format("{:.3f}", fmt::join(start, " "));
  }
}

TEST(RemlOptimum, NoOtherStartEndsLower) {
  for (std::uint64_t seed = 0; seed < designs; ++seed) expect_the_lowest(seed);
}

TEST(RemlOptimum, NoOtherStartEndsLowerWhereADescentFromTheDefaultDoesNot) {
  for (const std::uint64_t seed : difficult) {
    expect_the_lowest(seed);
    const Case one(seed);
    const RemlFit fit = one.fit();
    const RemlFit local = one.fit(Search::local);
    EXPECT_LE(fit.score, local.score + tolerance(local.score)) << one.told(fit.log_sp);
  }
}

/// As for s(dept) in InstEval of lme4 with s(d): a descent sends the second of two crossed groupings to
/// infinity, where V is flat, though V is lower by 3 at a finite effect.
TEST(RemlOptimum, ARandomEffectThatIsSentToInfinityComesBack) {
  const Case one(4590);
  const auto edf_of_the_last = [&](const RemlFit& fit) {
    const CoefBlock& block = one.random.model.design().blocks.back();
    EXPECT_EQ(block.kind, "re");
    const auto begin = fit.edf.begin() + block.coef_begin;
    return std::accumulate(begin, begin + block.coef_size, 0.0);
  };
  const RemlFit local = one.fit(Search::local);
  const RemlFit fit = one.fit();
  EXPECT_LT(edf_of_the_last(local), 1e-3);
  EXPECT_GT(edf_of_the_last(fit), 2);
  EXPECT_LT(fit.score, local.score - 3);
}

TEST(RemlOptimum, AProfileIsTheCriterionAlongOneParameter) {
  for (const std::uint64_t seed : {0, 1, 3, 4, 10, 24}) {
    const Case one(seed);
    const std::vector<double>& centre = one.criterion.default_start();
    for (int j = 0; j < one.criterion.size(); ++j) {
      const std::array<int, 1> own{j};
      const auto profiles = one.criterion.profiles(centre, own);
      ASSERT_EQ(profiles.size(), 1u);
      for (const double by : {-8.0, -1.5, 0.0, 3.0, 12.0}) {
        std::vector<double> at = centre;
        at[static_cast<std::size_t>(j)] += by;
        const double value = one.criterion.evaluate(at)->value;
        EXPECT_NEAR(profiles[0].value(at[static_cast<std::size_t>(j)]), value, 1e-7 * (1 + std::abs(value)))
            << one.told(at) << ", parameter " << j;
      }
    }
  }
}

/// The criteria by which the search abandons descents, with a tenth of their margins.
TEST(RemlOptimum, ADescentThatIsAboutToConvergeFallsLittleFurtherThanItIsSaidTo) {
  int about_to_converge = 0;
  for (std::uint64_t seed = 0; seed < designs; ++seed) {
    const Case one(seed);
    for (const std::vector<double>& start : other_starts(one, one.fit(Search::local))) {
      bool told = false;
      double least = 0;
      const auto end = descend(one.criterion, start, [&](const RemlOptimum& now) {
        const auto fall = fall_ahead(now.at);
        if (!told && fall) {
          told = true;
          least = now.at.value - std::max(10 * *fall, 1.0);
        }
        return false;
      });
      if (!end || !told) continue;
      ++about_to_converge;
      EXPECT_GE(end->at.value, least)
          << one.told(end->log_sp) << " from " << fmt::format("{:.3f}", fmt::join(start, " "));
    }
  }
  EXPECT_GT(about_to_converge, 1000);
}

/// The same grouping twice: V is symmetric in the two, and a descent from equal values keeps them equal.
TEST(RemlOptimum, TheSameGroupingTwiceEndsInNoSaddle) {
  constexpr int levels = 8;
  constexpr int rows = 48;
  DenseModel model(rows);
  std::vector<std::string> group;
  std::vector<double> y;
  for (int i = 0; i < rows; ++i) {
    group.push_back(std::to_string(100 + i % levels));
    y.push_back(std::sin(3.0 * (i % levels)) + 0.3 * std::cos(7.0 * i));
  }
  model.add_intercept();
  model.add_re("s(group)", group);
  model.add_re("s(again)", group);
  const std::vector<double> ones(y.size(), 1.0);
  const WorkingModel working =
      model.working(y, ones, std::vector<double>(static_cast<std::size_t>(model.design().coef_size)));
  const auto bases = penalty_bases(model.design());
  const HostAlgebra algebra;
  const RemlCriterion criterion(working, model.design(), bases, false, algebra);
  const auto equal = descend(criterion, criterion.default_start());
  ASSERT_TRUE(equal.has_value());
  EXPECT_NEAR(equal->log_sp[0], equal->log_sp[1], 1e-6);
  const RemlOptimum optimum = multistart_search(criterion, *equal, affordable_evaluations(criterion)).lowest;
  EXPECT_LE(optimum.at.value, equal->at.value);
  for (const double v : symmetric_eigen(optimum.at.hessian).values) EXPECT_GT(v, -1e-6);
}

TEST(RemlOptimum, TheSameBitsOnAnyNumberOfThreads) {
  for (const std::uint64_t seed : difficult) {
    const Case one(seed);
    const RemlFit alone = one.fit();
    for (const int threads : {1, 2, 5, 16}) {
      const RemlFit fit = one.fit(HostAlgebra(threads));
      EXPECT_EQ(fit.log_sp, alone.log_sp) << seed << ", " << threads << " threads";
      EXPECT_EQ(fit.coef, alone.coef) << seed << ", " << threads << " threads";
    }
  }
}

TEST(RemlOptimum, TheSameBitsOnAnyNumberOfThreadsWhereverTheSearchIsCutShort) {
  const HostAlgebra seven(7);
  for (const std::uint64_t seed : difficult) {
    const Case one(seed);
    const auto first = descend(one.criterion, one.criterion.default_start());
    ASSERT_TRUE(first) << seed;
    const RemlCriterion criterion = one.criterion.computed_by(seven);
    for (int evaluations = 0; evaluations < 80; ++evaluations) {
      const RemlOptimum alone = multistart_search(one.criterion, *first, evaluations).lowest;
      const RemlOptimum found = multistart_search(criterion, *first, evaluations).lowest;
      EXPECT_EQ(found.log_sp, alone.log_sp) << seed << ", " << evaluations << " evaluations";
    }
  }
}

void write_table(const RandomModel& random, const std::filesystem::path& path) {
  std::ofstream out(path);
  std::vector<std::string> names;
  for (const auto& [name, values] : random.numbers) names.push_back(name);
  for (const auto& [name, levels] : random.factors) names.push_back(name);
  out << fmt::format("{}\n", fmt::join(names, ","));
  for (std::size_t i = 0; i < random.numbers.back().second.size(); ++i) {
    std::vector<std::string> fields;
    for (const auto& [name, values] : random.numbers) fields.push_back(fmt::format("{}", values[i]));
    for (const auto& [name, levels] : random.factors) fields.push_back(levels[i]);
    out << fmt::format("{}\n", fmt::join(fields, ","));
  }
}

/// The optimum of gam() is not lower in our criterion, at its smoothing parameters.
TEST(RemlOptimum, NoOptimumOfMgcvIsLower) {
  if (std::system("Rscript -e 'library(mgcv)' > /dev/null 2>&1") != 0)
    GTEST_SKIP() << "R with mgcv is not here";
  constexpr std::uint64_t compared = 35;
  const TemporaryFolder folder;
  std::vector<std::uint64_t> seeds(difficult.begin(), difficult.end());
  for (std::uint64_t seed = 0; seed < compared; ++seed) seeds.push_back(seed);
  std::ofstream script(folder / "fit.R");
  script << "suppressMessages(library(mgcv))\n";
  for (const std::uint64_t seed : seeds) {
    const RandomModel random = random_model(seed);
    const std::string table = folder / fmt::format("{}.csv", seed);
    write_table(random, table);
    script << fmt::format(
        "d <- read.csv('{}', stringsAsFactors = TRUE)\n"
        "b <- try(gam({}, data = d, weights = w, scale = {}, method = 'REML'), silent = TRUE)\n"
        "cat({}, if (inherits(b, 'try-error')) character(0) else format(log(b$sp), digits = 15), '\\n')\n",
        table, random.formula, random.scale_known ? 1 : -1, seed);
  }
  script.close();
  const std::string answers = folder / "answers";
  // Threads of BLAS that wait for each other take minutes if other programs use the cores.
  const std::string command = fmt::format("OPENBLAS_NUM_THREADS=1 Rscript {} > {} 2> /dev/null",
                                          std::string(folder / "fit.R"), answers);
  ASSERT_EQ(std::system(command.c_str()), 0);

  std::ifstream in(answers);
  int found = 0;
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::uint64_t seed = 0;
    fields >> seed;
    const Case one(seed);
    std::vector<double> log_sp;
    for (double v = 0; fields >> v;) log_sp.push_back(v);
    if (static_cast<int>(log_sp.size()) != one.criterion.size()) continue;
    const auto theirs = one.criterion.evaluate(log_sp);
    if (!theirs) continue;
    ++found;
    const RemlFit fit = one.fit();
    EXPECT_GE(theirs->value, fit.score - tolerance(fit.score))
        << one.told(fit.log_sp) << ", mgcv's " << fmt::format("{:.3f}", fmt::join(log_sp, " "));
  }
  // gam() refuses some designs: no more coefficients than rows.
  EXPECT_GE(found, static_cast<int>(compared) / 2);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
