// SPDX-License-Identifier: Apache-2.0
// Many models from files to files: the same bytes for any number of ranks and threads, and errors on all
// ranks.
#include "support/file_content.hpp"
#include "support/on_cpu.hpp"
#include "support/table_support.hpp"

#include <tessera/gam/many.hpp>

#include <fmt/format.h>

#include <random>
#include <string>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

constexpr int rows = 120;
constexpr int responses = 37;
constexpr const char* terms = "f + s(t, by = f, bs = \"cr\", k = 5) + offset(o)";

std::string covariates_text() {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::string text = "t,f,o\n";
  for (int i = 0; i < rows; ++i)
    text += fmt::format("{},{},{}\n", uniform(random), i % 3 == 0 ? "a" : "b", 0.2 * uniform(random));
  return text;
}

std::string responses_text(const std::string& wrong = {}) {
  std::mt19937_64 random(2);
  std::string text;
  for (int g = 0; g < responses; ++g) text += fmt::format("{}gene{}", g == 0 ? "" : ",", g);
  text += '\n';
  for (int i = 0; i < rows; ++i) {
    for (int g = 0; g < responses; ++g) {
      const double mean = g == 3 ? 0 : std::exp(0.1 * g - 1) * (1 + i % 5);
      std::string value = mean == 0 ? "0" : std::to_string(std::poisson_distribution<int>(mean)(random));
      if (g == 5 && i % 7 == 0) value = "NA";
      if (g == 20 && i == 10 && !wrong.empty()) value = wrong;
      text += fmt::format("{}{}", g == 0 ? "" : ",", value);
    }
    text += '\n';
  }
  return text;
}

class ManyFits : public OverRanks {
 protected:
  ManySummary fit(Job& job, const std::string& out, const std::string& tests, ManyOptions options = {},
                  std::string formula = terms) {
    options.family = family("nb");
    return fit_many(job, formula, Table{covariates.path()}, {.path = counts.path(), .subset = {}}, options,
                    {.fits = out, .tests = tests});
  }
  SharedFile covariates{comm, "covariates.csv", covariates_text()};
  SharedFile counts{comm, "counts.csv", responses_text()};
};

TEST_F(ManyFits, AreTheSameBytesForAnyRanksAndThreads) {
  const SharedFile fits(comm, "fits.csv");
  const SharedFile tests(comm, "tests.csv");
  Job job(comm, on_cpu(2));
  const ManySummary summary = fit(job, fits.path(), tests.path());
  EXPECT_EQ(summary.responses, responses);
  EXPECT_EQ(summary.by_status.at("all_zero"), 1);
  if (comm.rank() != 0) return;
  const mpi::Communicator serial = mpi::Communicator::serial();
  Job alone(serial, on_cpu(1));
  const std::string own_fits = fits.path() + ".own.csv";
  const std::string own_tests = tests.path() + ".own.csv";
  fit(alone, own_fits, own_tests);
  EXPECT_EQ(tessera::testing::content_of(fits.path()), tessera::testing::content_of(own_fits));
  EXPECT_EQ(tessera::testing::content_of(tests.path()), tessera::testing::content_of(own_tests));
}

TEST_F(ManyFits, OfASubsetHaveTheSameNumbers) {
  const SharedFile fits(comm, "fits.csv");
  const SharedFile some(comm, "some.csv");
  const SharedFile names(comm, "names.txt", "gene7\ngene30\n");
  Job job(comm, on_cpu(2));
  fit(job, fits.path(), "");
  static_cast<void>(fit_many(job, terms, Table{covariates.path()},
                             {.path = counts.path(), .subset = names.path()}, {.family = family("nb")},
                             {.fits = some.path()}));
  if (comm.rank() != 0) return;
  const std::string all = tessera::testing::content_of(fits.path());
  const std::string two = tessera::testing::content_of(some.path());
  EXPECT_EQ(std::count(two.begin(), two.end(), '\n'), 3);
  for (const char* const name : {"\n\"gene7\",", "\n\"gene30\","}) {
    const auto line = [&](const std::string& text) {
      const auto begin = text.find(name);
      return begin == std::string::npos ? std::string()
                                        : text.substr(begin, text.find('\n', begin + 1) - begin);
    };
    EXPECT_FALSE(line(two).empty());
    EXPECT_EQ(line(two), line(all));
  }
}

TEST_F(ManyFits, LeaveOutResponsesWithTooFewValues) {
  const SharedFile fits(comm, "fits.csv");
  Job job(comm, on_cpu(2));
  EXPECT_EQ(fit(job, fits.path(), "", {.min_share = 0.9}).by_status.at("too_few"), 1);
}

TEST_F(ManyFits, RefuseBadInputOnAllRanksAndLeaveNothing) {
  const SharedFile fits(comm, "fits.csv");
  Job job(comm, on_cpu(2));
  const auto refused = [&](ErrorCode code, const std::string& part, auto&& call) {
    expect_error(code, part, call);
    comm.barrier();
    if (comm.rank() == 0) {
      EXPECT_FALSE(std::filesystem::exists(fits.path()));
    }
  };
  counts.write(responses_text("2.5"));
  refused(ErrorCode::input, "response 'gene20', row 11: the value 2.5 is not a count",
          [&] { fit(job, fits.path(), ""); });
  counts.write("a,b\n1,2\n");
  refused(ErrorCode::input, "has 1 rows, but the covariates have 120", [&] { fit(job, fits.path(), ""); });
  counts.write(responses_text());
  refused(ErrorCode::usage, "many models have the families", [&] {
    static_cast<void>(fit_many(job, terms, Table{covariates.path()}, {.path = counts.path()},
                               {.family = family("tw")}, {.fits = fits.path()}));
  });
  refused(ErrorCode::usage, "the formula is empty", [&] { fit(job, fits.path(), "", {}, " "); });
  const SharedFile names(comm, "names.txt", "gene99\n");
  refused(ErrorCode::usage, "has no response 'gene99'", [&] {
    static_cast<void>(fit_many(job, terms, Table{covariates.path()},
                               {.path = counts.path(), .subset = names.path()}, {.family = family("nb")},
                               {.fits = fits.path()}));
  });
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing
