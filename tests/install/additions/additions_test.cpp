// SPDX-License-Identifier: Apache-2.0
// A family, a basis and a table format, each added as one file and one line of a list, are found by their
// names, and fitted.
#include "gam/basis/bases.hpp"
#include "gam/basis/cr.hpp"
#include "gam/data/csv/csv_table.hpp"
#include "gam/data/source/table_reader.hpp"
#include "gam/family/family.hpp"
#include "gam/family/gamma.hpp"
#include "gam/family/nb.hpp"
#include "gam/model/model.hpp"

#include <tessera/gam/gam.hpp>
#include <tessera/tessera.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

// A type without one of the parts does not compile.
struct LacksWeight : Gamma {
  static double weight(double, double, double) = delete;
};
struct LacksLikelihood : Gamma {
  static double minus_two_log_likelihood(double, double, double, double) = delete;
};
struct WithoutTerms : Nb {
  void likelihood_terms(double, double, double*) const = delete;
};
struct WithoutSize : Cr {
  static BasisSize size(int) = delete;
};
struct WithoutReader : CsvFormat {
  static std::unique_ptr<TableReader> open(const mpi::Communicator&, const std::string&,
                                           const OpenOptions&) = delete;
};
static_assert(BuiltInFamily<Gamma> && !BuiltInFamily<LacksWeight> && !BuiltInFamily<LacksLikelihood>);
static_assert(BuiltInFamily<Nb> && !BuiltInFamily<WithoutTerms>);
static_assert(BasisType<Cr> && !BasisType<WithoutSize>);
static_assert(TableFormat<CsvFormat> && !TableFormat<WithoutReader>);

constexpr int rows = 200;

/// y around exp(sin(6 x)).
std::array<double, 2> row_of(int row) {
  const double x = std::fmod(row * 0.6180339887498949, 1.0);
  const double noise = std::fmod(row * 0.7548776662466927, 1.0) - 0.5;
  return {x, std::exp(std::sin(6 * x) + 0.4 * noise)};
}

FittedModel fit_of(const std::string& path, const std::string& formula,
                   const std::string& family_text = "gaussian") {
  const auto world = mpi::Communicator::duplicate_of(MPI_COMM_WORLD);
  JobOptions job_options;
  job_options.policy = Policy::cpu;
  job_options.threads = 1;
  Job job(world, job_options);
  return fit(job, parse_formula(formula), Table{path}, {.family = family(family_text)}).model.fitted();
}

std::string refusal(const auto& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class Additions : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream table(path, std::ios::binary);
    std::ofstream csv(path_csv);
    table << "DOUBLES\n";
    csv << "x,y\n";
    csv.precision(17);
    for (int i = 0; i < rows; ++i) {
      const auto row = row_of(i);
      table.write(reinterpret_cast<const char*>(row.data()), sizeof row);
      csv << row[0] << ',' << row[1] << '\n';
    }
  }
  void TearDown() override {
    for (const std::string& file : {path, path_csv, path_toml}) static_cast<void>(std::remove(file.c_str()));
  }

  const std::string path = ::testing::TempDir() + "additions.doubles";
  const std::string path_csv = path + ".csv";
  const std::string path_toml = path + ".toml";
};

TEST_F(Additions, AreNamedWhereTheOthersAre) {
  EXPECT_NE(refusal([] { static_cast<void>(family("other")); }).find("exponential, "), std::string::npos);
  EXPECT_NE(refusal([] { static_cast<void>(parse_formula("y ~ s(x, bs=\"other\")")); }).find("ps, pl, cp, "),
            std::string::npos);
  EXPECT_EQ(family("exponential").name(), "exponential");
  EXPECT_EQ(family("gamma").name(), "Gamma");
}

TEST_F(Additions, AFormatIsReadByWhatItsFileHas) {
  const std::string formula = "y ~ s(x, bs=\"cr\", k=8)";
  EXPECT_EQ(fit_of(path, formula).coef, fit_of(path_csv, formula).coef);
}

TEST_F(Additions, AFamilyIsFittedAsTheCustomOneOfItsFunctions) {
  std::ofstream(path_toml)
      << "name = 'own'\nscale = 'known'\ninverse_link = 'exp(eta)'\nderivative = 'exp(eta)'\n"
         "variance = 'mu^2'\ndeviance = '2 * ((y - mu) / mu - log(y / mu))'\n";
  const std::string formula = "y ~ s(x, bs=\"cr\", k=8)";
  const FittedModel built_in = fit_of(path, formula, "exponential");
  EXPECT_TRUE(built_in.converged);
  EXPECT_NEAR(built_in.deviance / fit_of(path, formula, "@" + path_toml).deviance, 1, 1e-6);
}

TEST_F(Additions, ABasisIsFitted) {
  const FittedModel model = fit_of(path, "y ~ s(x, bs=\"pl\", k=15)");
  EXPECT_TRUE(model.converged);
  EXPECT_EQ(model.coef.size(), 15);
  EXPECT_EQ(model.design.blocks[1].kind, "pl");
  EXPECT_GT(model.r_squared_adjusted, 0.9);
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam
