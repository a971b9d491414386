// SPDX-License-Identifier: Apache-2.0
// tessera-fit refuses with one line on one rank, the same status on all, and no file written. The commands
// run in this process, on each rank, since starting a program for each would take minutes.
#include "fit/example.hpp"
#include "fit/run.hpp"
#include "support/file_content.hpp"
#include "temporary_folder.hpp"

#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/program_end.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

/// Redirects a descriptor of this process to a file during its lifetime.
class Redirected {
 public:
  Redirected(int descriptor, const fs::path& path) : descriptor_(descriptor), kept_(::dup(descriptor)) {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    ::dup2(::fileno(file), descriptor_);
    std::fclose(file);
  }
  ~Redirected() {
    std::fflush(stdout);
    ::dup2(kept_, descriptor_);
    ::close(kept_);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  int descriptor_;
  int kept_;
};

struct Outcome {
  bool by_first_rank = false;
  int status = -1;
  std::string err;  ///< what this rank wrote to standard error
};

/// All ranks see one folder with a table, a new one for each test.
class Refusals : public ::testing::Test {
 protected:
  void SetUp() override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    std::array<char, 4096> name{};
    if (rank_ == 0) std::snprintf(name.data(), name.size(), "%s", own_.path().c_str());
    MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
    folder_ = fs::path(name.data()) / "work";
    if (rank_ == 0) fs::create_directory(folder_);
    write("data.csv", example_table());
  }
  /// Rank 0 owns files that the others still read.
  void TearDown() override { MPI_Barrier(MPI_COMM_WORLD); }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::string read(const std::string& name) const {
    return testing::content_of(folder_ / name);
  }
  void write(const std::string& name, const std::string& text) const {
    if (rank_ == 0) std::ofstream(folder_ / name, std::ios::binary) << text;
    MPI_Barrier(MPI_COMM_WORLD);
  }

  /// Runs `tessera-fit WORDS` on all ranks.
  [[nodiscard]] Outcome run(Words words) const {
    const bool by_first_rank = words.front() == "summary" || words.front() == "report";
    words.insert(words.begin(), "tessera-fit");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    Outcome outcome;
    {
      const Redirected out(STDOUT_FILENO, own_ / "out");
      const Redirected err(STDERR_FILENO, own_ / "err");
      std::optional<mpi::Session> session;
      outcome.status = apps::exit_status_of("tessera-fit", session, [&] {
        return gam::run_program(static_cast<int>(words.size()), argv.data(), session);
      });
    }
    MPI_Barrier(MPI_COMM_WORLD);
    outcome.err = testing::content_of(own_ / "err");
    outcome.by_first_rank = by_first_rank;
    return outcome;
  }
  [[nodiscard]] Outcome fit(const std::string& table, const std::string& formula,
                            const Words& more = {}) const {
    Words words{"fit", path(table), "--formula", formula, "--device",
                "cpu", "--threads", "1",         "--out", path("model.json")};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }

  void expect_line(const Outcome& outcome, int status, std::string_view words) const {
    // The first rank does all work of such a command, and so finds faults of a file; the others end with 0.
    const bool ends_with_0 = rank_ != 0 && outcome.by_first_rank && status == 3;
    EXPECT_EQ(outcome.status, ends_with_0 ? 0 : status) << outcome.err;
    const std::vector<std::string> own = complaints(outcome.err);
    // The formula and its carets follow the message.
    const std::size_t lines = !own.empty() && own[0].starts_with("tessera-fit: formula, ") ? 3 : 1;
    ASSERT_EQ(own.size(), rank_ == 0 ? lines : 0U) << outcome.err;
    if (rank_ == 0) {
      EXPECT_NE(own[0].find(words), std::string::npos) << own[0];
    }
  }
  void expect_refusal(const Outcome& outcome, int status, std::string_view words) const {
    expect_line(outcome, status, words);
    // No partial file, under any name.
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      EXPECT_FALSE(name.starts_with("model") || name.starts_with("pred")) << name;
    }
  }

  int rank_ = 0;
  TemporaryFolder own_;  ///< this rank's
  fs::path folder_;      ///< rank 0's, for all
};

struct Refusal {
  const char* name;
  const char* table;  ///< null: the good one
  const char* formula;
  Words more;
  int status;
  const char* words;
};

/// One text that is not a number in the column w.
constexpr const char* numbers_with_text = "y,x,w\n1,1,1\n2,3,2\n3,2,two\n4,5,3\n";

class OfInput : public Refusals, public ::testing::WithParamInterface<Refusal> {};

TEST_P(OfInput, IsOneLineWithItsStatusAndNoFile) {
  const Refusal& refusal = GetParam();
  if (refusal.table != nullptr) write("bad.csv", refusal.table);
  expect_refusal(fit(refusal.table != nullptr ? "bad.csv" : "data.csv", refusal.formula, refusal.more),
                 refusal.status, refusal.words);
}

INSTANTIATE_TEST_SUITE_P(
    Refusals, OfInput,
    ::testing::Values(
        Refusal{"FormulaNotUtf8", nullptr, "y ~ gr\xF6\xDFte", {}, 2, "the formula is not UTF-8"},
        Refusal{"LevelNotUtf8",
                "y,f\n1,Ulm\n2,M\xFCnchen\n3,Ulm\n",
                "y ~ f",
                {},
                3,
                "line 3: the column 'f' holds a text that is not UTF-8"},
        Refusal{"UnknownColumn", nullptr, "y ~ s(nothing, bs=\"ps\", k=12)", {}, 3, "'nothing'"},
        Refusal{"UnparsableFormula", nullptr, "y ~ s(x, bs=\"ps\"", {}, 2, "formula"},
        Refusal{"NoTilde", nullptr, "y + x", {}, 2, "formula"},
        Refusal{"KTooLarge", nullptr, "y ~ s(few, bs=\"ps\", k=12)", {}, 3, "few"},
        Refusal{"ConstantCovariate", nullptr, "y ~ s(c, bs=\"ps\", k=12)", {}, 3, "constant"},
        Refusal{"ConstantParametric", nullptr, "y ~ c", {}, 3, "constant"},
        Refusal{"TextInASmooth",
                nullptr,
                "y ~ s(f, bs=\"ps\", k=12)",
                {},
                3,
                "line 2: the column 'f' holds the text 'a', but the model needs numbers"},
        Refusal{"TextInATensor",
                numbers_with_text,
                "y ~ te(x, w, bs=\"ps\", k=c(5,5))",
                {},
                3,
                "line 4: the column 'w' holds the text 'two'"},
        Refusal{"TextInAnOffset",
                numbers_with_text,
                "y ~ x + offset(w)",
                {},
                3,
                "line 4: the column 'w' holds the text 'two'"},
        Refusal{"TextInTheWeights",
                numbers_with_text,
                "y ~ x",
                {"--weights", "w"},
                3,
                "line 4: the column 'w' holds the text 'two'"},
        Refusal{"TextInTheResponse",
                numbers_with_text,
                "w ~ x",
                {},
                3,
                "line 4: the column 'w' holds the text 'two'"},
        Refusal{
            "BinomialOutOfRange", nullptr, "few ~ s(x, bs=\"ps\", k=12)", {"--family", "binomial"}, 3, "few"},
        Refusal{"NoCompleteRow",
                "y,x\nNA,1\nNA,2\n3,NA\n",
                "y ~ x",
                {},
                3,
                "the table has no complete row (missing: "},
        Refusal{"PoissonNegative",
                "y,x\n1,1\n-2,2\n3,3\n4,5\n",
                "y ~ x",
                {"--family", "poisson"},
                3,
                "data row 2"},
        Refusal{"NegativeBinomialNegative",
                "y,x\n1,1\n-2,2\n3,3\n4,5\n",
                "y ~ x",
                {"--family", "nb"},
                3,
                "response 'y' is -2 in data row 2: for the nb family it must not be negative"},
        Refusal{"NegativeFailures",
                "s,f,x\n1,2,1\n2,-2,2\n3,1,3\n",
                "cbind(s, f) ~ x",
                {"--family", "binomial"},
                3,
                "response 'cbind(s, f)' has a negative count in data row 2: give the numbers of successes"},
        Refusal{"NegativeFailuresAlone",
                "s,f,x\n1,2,1\n0,-2,2\n3,1,3\n",
                "cbind(s, f) ~ x",
                {"--family", "binomial"},
                3,
                "response 'cbind(s, f)' has a negative count in data row 2"},
        Refusal{"MeanThatNoLinkGives",
                "y,x\n-1,1\n-2,2\n1,3\n-3,5\n",
                "y ~ x",
                {"--family", "gaussian(log)"},
                3,
                "the mean response -1.25 is outside the range of gaussian(log)"},
        Refusal{"Dates",
                "y,day\n1,2020-01-01\n2,2020-01-02\n3,2020-01-04\n",
                "y ~ s(day)",
                {},
                3,
                "but the model needs numbers: give dates as numbers, such as days since the first"},
        Refusal{"NoBreakSpace",
                "y,x\n1,1\n2,\u00a01.5\n3,3\n4,9\n",
                "y ~ x",
                {},
                3,
                "holds the text '<U+00A0>1.5'"},
        Refusal{"NoBreakSpaceInAName",
                "y,x\u00a0\n1,1\n2,2\n",
                "y ~ x",
                {},
                3,
                "unknown column 'x'; it has: y, x<U+00A0>"},
        Refusal{"Parquet", "PAR1\x15\x04\x15\x10\n1\n", "y ~ x", {}, 3, " Parquet"},
        Refusal{
            "ShapeConstraints", nullptr, "y ~ s(x, bs=\"sc\")", {}, 2, "a smooth whose shape is constrained"},
        Refusal{"PenaltyOfNoTerm",
                nullptr,
                "y ~ f + s(x)",
                {"--para-pen", R"({"x": {"S": [[[1]]]}})"},
                2,
                "para-pen: the formula has no parametric term 'x': correct the name"},
        Refusal{"PenaltyOfAnotherSize",
                nullptr,
                "y ~ f",
                {"--para-pen", R"({"f": {"S": [[[1]]]}})"},
                2,
                "para-pen: matrix 1 of 'f' is 1 x 1, but the term has 2 coefficients: give one row and one "
                "column"},
        Refusal{"PenaltyThatIsNotSymmetric",
                nullptr,
                "y ~ f",
                {"--para-pen", R"({"f": {"S": [[[1, 0], [0, 1]], [[1, 2], [0, 1]]]}})"},
                2,
                "para-pen: matrix 2 of 'f' is not symmetric"},
        Refusal{"PenaltyThatRewards",
                nullptr,
                "y ~ f",
                {"--para-pen", R"({"f": {"S": [[[1, 2], [2, 1]]]}})"},
                2,
                "para-pen: matrix 1 of 'f' has the negative eigenvalue -1"},
        Refusal{"PenaltyOfNothing",
                nullptr,
                "y ~ f",
                {"--para-pen", R"({"f": {"S": [[[0, 0], [0, 0]]]}})"},
                2,
                "para-pen: matrix 1 of 'f' penalises nothing"},
        Refusal{"PenaltyOfAnotherRank",
                nullptr,
                "y ~ f",
                {"--para-pen", R"({"f": {"S": [[[1, 1], [1, 1]]], "rank": [2]}})"},
                2,
                "para-pen: matrix 1 of 'f' has the rank 1, not 2"},
        Refusal{"PenaltyOfAnOrderedFactor",
                nullptr,
                "y ~ f",
                {"--ordered", "f=a,b,c", "--para-pen", R"({"f": {"S": [[[1, 0], [0, 1]]]}})"},
                2,
                "para-pen: 'f' has the ordered factor 'f', whose polynomials are separate terms"},
        Refusal{"PenaltyWithoutMatrices",
                nullptr,
                "y ~ f",
                {"--para-pen", R"({"f": {"sp": [1]}})"},
                3,
                "para-pen: is damaged: f: lacks the member S: give the penalty matrices as S"},
        Refusal{"PenaltyWithAnUnknownField",
                nullptr,
                "y ~ f",
                {"--para-pen", R"({"f": {"S": [[[1, 0], [0, 1]]], "L": [1]}})"},
                3,
                "f.L: is not a member of a penalty: give S, rank or sp"},
        Refusal{"PenaltyInNoFile", nullptr, "y ~ f", {"--para-pen", "none.json"}, 3, "none.json"},
        Refusal{"PenaltyWithTooManyParameters",
                nullptr,
                "y ~ f",
                {"--para-pen", R"({"f": {"S": [[[1, 0], [0, 1]]], "sp": [1, 2]}})"},
                2,
                "f: sp= has 2 values, but the smooth has 1 smoothing parameter"},
        Refusal{"DistrictsOfNumbers",
                nullptr,
                "y ~ s(few, bs='mrf', xt=list(nb=list(a='b', b='a')))",
                {},
                3,
                "s(few): 'few' has numbers, and bs=\"mrf\" needs names of districts: write factor(few)"},
        Refusal{"LevelThatIsNoDistrict",
                nullptr,
                "y ~ s(f, bs='mrf', xt=list(nb=list(a='b', b='a')))",
                {},
                3,
                "s(f): 'f' has the level 'c', but this level is not among the 2 districts: add the level to "
                "the districts"},
        Refusal{"DistrictsWithoutNeighbours",
                nullptr,
                "y ~ s(f, bs='mrf', xt=list(nb=list(a=c(), b=c(), c=c())))",
                {},
                3,
                "s(f): no two districts are neighbours: write bs=\"re\""},
        Refusal{"PenaltyWithANegativeEigenvalue",
                nullptr,
                "y ~ s(f, bs='mrf', xt=list(penalty=list(a=list(a=1, b=2), b=list(a=2, b=1), c=list(c=1))))",
                {},
                3,
                "s(f): the penalty has the negative eigenvalue -1: give a positive semidefinite penalty"},
        Refusal{"MoreFunctionsThanDistricts",
                nullptr,
                "y ~ s(f, bs='mrf', k=4, xt=list(nb=list(a='b', b=c('a', 'c'), c='b')))",
                {},
                3,
                "s(f): k = 4 is too large: give at most the number of districts, 3"},
        Refusal{"NoMoreFunctionsThanGroupsOfDistricts",
                nullptr,
                "y ~ s(f, bs='mrf', k=2, xt=list(nb=list(a='b', b='a', c=c())))",
                {},
                3,
                "s(f): k = 2 is too small: give at least 3, because 2 functions of the districts have no "
                "penalty"},
        Refusal{"FormulaTooMany",
                nullptr,
                "list(y ~ s(x), ~ x)",
                {},
                2,
                "the family gaussian has 1 linear predictor, but there are 2 formulas: give one formula, "
                "response ~ terms"},
        Refusal{"FormulaTooFew",
                nullptr,
                "y ~ s(x)",
                {"--family", "gaulss"},
                2,
                "the family gaulss has 2 linear predictors, but there is 1 formula: give one formula for "
                "each of the mean and the standard deviation: list(response ~ terms, ~ terms)"},
        Refusal{"FormulaTooFewOfThree",
                nullptr,
                "list(y ~ s(x), ~ x)",
                {"--family", "gevlss"},
                2,
                "the family gevlss has 3 linear predictors, but there are 2 formulas: give one formula for "
                "each of the location, the scale and the shape: list(response ~ terms, ~ terms, ~ terms)"},
        Refusal{"FormulaTooManyForTwoClasses",
                nullptr,
                "list(y ~ s(x), ~ x)",
                {"--family", "multinom"},
                2,
                "the family multinom has 1 linear predictor, but there are 2 formulas: give one formula, "
                "response ~ terms, or write multinom(K=2)"},
        Refusal{"FormulaTooFewForSixClasses",
                nullptr,
                "list(y ~ s(x), ~ x)",
                {"--family", "multinom(K=5)"},
                2,
                "the family multinom(K=5) has 5 linear predictors, but there are 2 formulas: give one "
                "formula for each of the classes 1 to 5: list(response ~ terms, ~ terms, ~ terms, ~ terms, "
                "...), or write multinom(K=2)"},
        Refusal{"FormulaWithAResponseMore",
                nullptr,
                "list(y ~ s(x), y ~ x)",
                {"--family", "gaulss"},
                2,
                "the formula of a second or later linear predictor has a response: remove the response and "
                "write ~ terms"},
        Refusal{"SharedByAPredictorThatIsNot",
                nullptr,
                "list(y ~ s(x), ~ 1, 1 + 3 ~ x - 1)",
                {"--family", "gaulss"},
                2,
                "the shared terms 1 + 3 ~ …: 3 is not the number of a linear predictor: write numbers from 1 "
                "to 2"},
        Refusal{"SharedByAPredictorZero",
                nullptr,
                "list(y ~ s(x), ~ 1, 0 + 1 ~ x - 1)",
                {"--family", "gaulss"},
                2,
                "the shared terms 0 + 1 ~ …: 0 is not the number of a linear predictor: write numbers from 1 "
                "to 2"},
        Refusal{"SharedByHalfAPredictor",
                nullptr,
                "list(y ~ s(x), ~ 1, 1 + 1.5 ~ x - 1)",
                {"--family", "gaulss"},
                2,
                "the shared terms 1 + 1.5 ~ …: 1.5 is not the number of a linear predictor: write numbers "
                "from 1 to 2"},
        Refusal{"SharedByOnePredictor",
                nullptr,
                "list(y ~ s(x), ~ 1, 2 ~ x - 1)",
                {"--family", "gaulss"},
                2,
                "shared terms, 2 ~ …, name only one linear predictor: add these terms to formula 2"},
        Refusal{"SharedTwiceByAPredictor",
                nullptr,
                "list(y ~ s(x), ~ 1, 1 + 2 + 1 ~ x - 1)",
                {"--family", "gaulss"},
                2,
                "a linear predictor occurs twice in 1 + 2 + 1 ~ …: write each number once"},
        Refusal{"SharedOffset",
                nullptr,
                "list(y ~ s(x), ~ 1, 1 + 2 ~ x + offset(z) - 1)",
                {"--family", "gaulss"},
                2,
                "shared terms have an offset: write the offset in the formula of each linear predictor"},
        Refusal{"SharedNothing",
                nullptr,
                "list(y ~ s(x), ~ 1, 1 + 2 ~ 0)",
                {"--family", "gaulss"},
                2,
                "1 + 2 ~ … has no terms: leave it out"},
        Refusal{"PredictorBehindSharedTerms",
                nullptr,
                "list(y ~ s(x), ~ 1, 1 + 2 ~ x - 1, ~ z)",
                {"--family", "gaulss"},
                2,
                "a linear predictor follows shared terms: write formulas such as 1 + 2 ~ s(x) - 1 last"},
        Refusal{"FormulaOfAPredictorWithoutTilde",
                nullptr,
                "list(y ~ s(x), x)",
                {"--family", "gaulss"},
                2,
                "this text is not the formula of a linear predictor: write ~ terms"},
        Refusal{"ListWithoutResponse",
                nullptr,
                "list(~ s(x), ~ x)",
                {"--family", "gaulss"},
                2,
                "the first formula has no '~' after a response: write response ~ terms"},
        Refusal{"MultinomOfNoClass",
                nullptr,
                "y ~ x",
                {"--family", "multinom(K=0)"},
                2,
                "multinom: K is 0: give the number of classes less 1, from 1 to 100"},
        Refusal{"MultinomOfOtherNumbers",
                nullptr,
                "y ~ x",
                {"--family", "multinom"},
                3,
                "for the multinom family it must be a whole number from 0 to 1, or be a factor of 2 levels"},
        Refusal{"OcatOfOtherNumbers",
                nullptr,
                "y ~ x",
                {"--family", "ocat(R=3)"},
                3,
                "for the ocat family it must be a whole number from 1 to R, or be a factor of 3 levels"},
        Refusal{"OcatOfAClassWithoutRows",
                nullptr,
                "I(1 + (x > 0.5)) ~ x",
                {"--family", "ocat(R=3)"},
                3,
                "is never 3 in a complete row: use the family ocat with only the classes that occur"},
        Refusal{"OcatOfLevelsMore",
                nullptr,
                "factor(1 + (x > 0.5)) ~ x",
                {"--family", "ocat(R=3)"},
                3,
                "has 2 levels in the complete rows ('1', '2'): give a response with 3 levels, as many as "
                "ocat's R"},
        Refusal{"ZiPOfProportions",
                nullptr,
                "y ~ x",
                {"--family", "zip"},
                3,
                "for the ziP family it must be a whole number of 0 or more"},
        Refusal{"ZiPOfTwoCounts",
                nullptr,
                "I(1 * (x > 0.5)) ~ x",
                {"--family", "zip"},
                3,
                "is 0 or 1 in every complete row: use the family binomial"},
        Refusal{"LinksOfNoPredictor",
                nullptr,
                "list(y ~ x, ~ x)",
                {"--family", "gaulss(link=list('log', 'logit'))"},
                2,
                "the links of its linear predictors are identity, inverse, log or sqrt, then logb"},
        Refusal{"OcatOfTwoClasses",
                nullptr,
                "y ~ x",
                {"--family", "ocat(R=2)"},
                2,
                "ocat: R is 2: give the number of classes, from 3 to 100; for two classes, use binomial"},
        Refusal{"QuantileOfNone",
                nullptr,
                "y ~ x",
                {"--family", "elf"},
                2,
                "the family 'elf' lacks the quantile: write elf(qu=0.9)"},
        Refusal{"CorrelationOfElf",
                nullptr,
                "y ~ x",
                {"--family", "elf(qu=0.9)", "--rho", "0.5"},
                2,
                "rho cannot be used with the family elf, whose residuals are not correlated: remove rho"},
        Refusal{"CorrelationOfOcat",
                nullptr,
                "y ~ x",
                {"--family", "ocat(R=4)", "--rho", "0.5"},
                2,
                "rho cannot be used with the family ocat, whose residuals are not correlated: remove rho"},
        Refusal{"ArgumentOfGaulss",
                nullptr,
                "list(y ~ x, ~ 1)",
                {"--family", "gaulss(a=1)"},
                2,
                "the family gaulss takes one numeric argument, b: write gaulss(b=0.01)"},
        Refusal{"BoundsOfTwlss",
                nullptr,
                "list(y ~ x, ~ 1, ~ 1)",
                {"--family", "twlss(a=1.5, b=1.2)"},
                2,
                "twlss(a=1.5, b=1.2): give 1 < a < b < 2"},
        Refusal{"ArgumentOfTwlss",
                nullptr,
                "list(y ~ x, ~ 1, ~ 1)",
                {"--family", "twlss(p=1.5)"},
                2,
                "the family twlss takes the numeric arguments a and b: write twlss(a=1.01, b=1.99)"},
        Refusal{"CorrelationOfGaulss",
                nullptr,
                "list(y ~ x, ~ 1)",
                {"--family", "gaulss", "--rho", "0.5"},
                2,
                "rho cannot be used with the family gaulss, whose residuals are not correlated: remove rho"},
        Refusal{"CensoredCountsThatAreNotWhole",
                nullptr,
                "I(x + 0.5) ~ z",
                {"--family", "cpois"},
                3,
                "for the cpois family it must be a whole number of 0 or more"},
        Refusal{
            "CensoredCountsWithWholeLimits",
            nullptr,
            "cbind(I(3 + 0 * x), I(5 + 0 * z)) ~ x",
            {"--family", "cpois"},
            3,
            "is 3 and 5 in data row 1: for the cpois family it must have limits that are not whole numbers"},
        Refusal{"CensoredCountsBetweenNoLimits",
                nullptr,
                "cbind(I(3.2 + 0 * x), I(3.8 + 0 * z)) ~ x",
                {"--family", "cpois"},
                3,
                "is 3.2 and 3.8 in data row 1: for the cpois family it must have limits with a whole number "
                "between them"},
        Refusal{"InfiniteFirstNumber",
                nullptr,
                "cbind(log(0 * x), z) ~ x",
                {"--family", "cnorm"},
                3,
                "log(0 * x) is infinite: leave the row out"},
        Refusal{
            "ThreeColumns",
            nullptr,
            "cbind(y, x, z) ~ x",
            {"--family", "cnorm"},
            2,
            "needs two columns: write cbind(successes, failures), or cbind(y, limit) for a censored family"},
        Refusal{"LevelTwice",
                nullptr,
                "y ~ f",
                {"--levels", "f=\"a\",b,\"a\""},
                2,
                "the level 'a' is given twice"},
        Refusal{"OpenQuoteOfALevel", nullptr, "y ~ f", {"--levels", "f=\"a,b"}, 2, "a quote is not closed"},
        Refusal{"TextBehindALevel",
                nullptr,
                "y ~ f",
                {"--ordered", "f=\"a\"b,c"},
                2,
                "text follows a closing quote"},
        Refusal{"NoFileOfLevels", nullptr, "y ~ f", {"--levels", "@/none"}, 3, "/none"},
        Refusal{"GammaZero", nullptr, "few ~ x", {"--family", "gamma"}, 3, "must be greater than 0"},
        Refusal{"UnknownFamily", nullptr, "y ~ x", {"--family", "cauchy"}, 2, "cauchy"},
        Refusal{"UnknownOption", nullptr, "y ~ x", {"--colour", "red"}, 2, "colour"},
        Refusal{"UnknownKnots", nullptr, "y ~ x", {"--knots", "w=1,2"}, 2, "w"},
        Refusal{"UnreadableKnots", nullptr, "y ~ s(x, bs=\"ps\", k=12)", {"--knots", "x=a"}, 2, "knots"},
        Refusal{"KnotsTwice",
                nullptr,
                "y ~ s(x, bs=\"ps\", k=12)",
                {"--knots", "x=0,1", "--knots", "x = 0,2"},
                2,
                "knots 'x = 0,2': knots of x are given twice"},
        Refusal{"TooManySmoothingParameters",
                nullptr,
                "y ~ s(x, bs=\"ps\", k=12)",
                {"--sp", "-1,2"},
                2,
                "sp has 2 values, but the model needs one value per smoothing parameter: give the values of "
                "s(x)"},
        Refusal{"TooManyLeastSmoothingParameters",
                nullptr,
                "y ~ s(x, bs=\"ps\", k=12)",
                {"--min-sp", "1,2"},
                2,
                "min.sp has 2 values, but the model needs one value per smoothing parameter: give the values "
                "of s(x)"},
        Refusal{"NegativeLeastSmoothingParameter",
                nullptr,
                "y ~ s(x, bs=\"ps\", k=12)",
                {"--min-sp", "-1"},
                2,
                "min.sp: value 1 is -1: give finite numbers of at least 0"},
        Refusal{"NegativeGamma", nullptr, "y ~ s(x, bs=\"ps\", k=12)", {"--gamma", "-1"}, 2, "--gamma"},
        Refusal{"DataOutsideKnots", nullptr, "y ~ s(x, bs=\"ps\", k=12)", {"--knots", "x=0.4,0.6"}, 3, "x"},
        Refusal{"UnknownWeights", nullptr, "y ~ x", {"--weights", "w"}, 3, "'w'"},
        Refusal{"TooFewFields", "y,x\n1,2\n3\n4,5\n", "y ~ x", {}, 3, "3"},
        Refusal{"OpenQuote", "y,x\n1,2\n\"3,4\n5,6\n", "y ~ x", {}, 3, "quote"},
        Refusal{"TextAmongNumbers",
                "y,x\n1,1\n2,N/A\n3,2\n4,5\n",
                "y ~ x",
                {},
                3,
                "line 3: the column 'x' holds the text 'N/A', but most of its fields are numbers (3 of 4)"},
        Refusal{"ConstantResponse",
                nullptr,
                "c ~ s(x, bs=\"cr\")",
                {},
                3,
                "the response 'c' is 7 in every complete row: give a response that varies"},
        Refusal{"ConstantUpToTheOffset",
                nullptr,
                "I(0.1 + z) ~ s(x, bs=\"cr\") + offset(z)",
                {},
                3,
                "minus the offset is constant in every complete row"},
        Refusal{"ConstantWhereItIsWeighed",
                "y,x,w\n1,1,1\n1,2,1\n9,3,0\n1,5,1\n",
                "y ~ x",
                {"--weights", "w", "--family", "gamma"},
                3,
                "is 1 in every complete row with a weight above 0"},
        Refusal{"ConstantWhereItIsComplete",
                "y,x\n1,1\n1,2\n9,NA\n1,5\n",
                "y ~ x",
                {},
                3,
                "is 1 in every complete row: "},
        Refusal{"NoEvents",
                nullptr,
                "I(0 * few) ~ x + offset(z)",
                {"--family", "binomial"},
                3,
                "is 0 in every complete row"},
        Refusal{"NoCounts",
                nullptr,
                "I(0 * few) ~ x - 1",
                {"--family", "poisson"},
                3,
                "is 0 in every complete row"},
        Refusal{"OneLevelOfTwo",
                "y,x\nno,1\nno,2\nyes,NA\nno,5\n",
                "y ~ x",
                {"--family", "binomial"},
                3,
                "the response 'y' is 'no' in every complete row"},
        Refusal{"OneRow", "y,x\n1,1\n", "y ~ x", {}, 3, "is 1 in every complete row"},
        Refusal{"NoWeight",
                "y,x,w\n1,1,0\n2,2,0\n",
                "y ~ x",
                {"--weights", "w"},
                3,
                "the weights 'w' are 0 in every complete row"},
        Refusal{"FactorOfNoColumn", nullptr, "y ~ x", {"--factor", "z"}, 2, "factor 'z'"},
        Refusal{"EmptyFile", "", "y ~ x", {}, 3, "empty"},
        Refusal{"HeaderOnly", "y,x\n", "y ~ x", {}, 3, "bad.csv"},
        Refusal{"AllMissing", "y,x\nNA,1\n2,NA\n", "y ~ x", {}, 3, "complete"},
        Refusal{"MoreCoefficientsThanRows",
                "y,x,z\n1,1,2\n2,2,1\n3,4,5\n1,5,3\n2,7,8\n3,8,6\n4,9,4\n2,3,9\n",
                "y ~ x*z + I(x^2)*I(z^2) + s(x, bs=\"ps\", k=8)",
                {},
                3,
                "of them unpenalised, but the table has only 8 complete rows"},
        Refusal{"KnotsOverElevenDecades",
                nullptr,
                "y ~ s(exp(25 * x), bs=\"cr\", k=20)",
                {},
                3,
                "the penalty of s(exp(25 * x)) cannot be computed in double precision"},
        Refusal{"NoFirstStep",
                nullptr,
                "few ~ x + offset(I(1e300 * x))",
                {"--family", "poisson"},
                4,
                "the iteration diverged"}),
    [](const auto& tested) { return tested.param.name; });

TEST_F(Refusals, TellTheWholeOfATextWithANulByte) {
  using namespace std::string_literals;
  write("nul.csv", "y,x,w\n1,1,1\n2,3,2\n3,2,t\0wo\n4,5,3\n"s);
  expect_refusal(fit("nul.csv", "y ~ x + I(w^2)"), 3,
                 R"(holds the text 't\x00wo', but I(w^2) needs numbers)");
  ASSERT_EQ(fit("data.csv", "y ~ x").status, 0);
  write("m.json", read("model.json") + "\0garbage"s);
  expect_line(run({"predict", path("m.json"), path("data.csv")}), 3, "m.json: is not a model");
  expect_line(run({"report", path("model.json"), "--run-report", path("m.json"), "--out", path("r.html")}), 3,
              "m.json: is not a ");
}

TEST_F(Refusals, NameAMissingFile) {
  expect_refusal(fit("no.csv", "y ~ x"), 3, "no.csv");
}

TEST_F(Refusals, OfAPlaceThatCannotBeWrittenComeBeforeTheWork) {
  expect_refusal(run({"fit", path("no.csv"), "--formula", "y ~ x", "--out", path("no/model.json")}), 3,
                 "no/model.json");
}

TEST_F(Refusals, OfAPlaceThatNoFileCanTakeComeBeforeTheWork) {
  if (rank_ == 0) fs::create_directory(path("folder"));
  MPI_Barrier(MPI_COMM_WORLD);
  const auto to = [&](const Words& out) {
    Words words{"fit", path("no.csv"), "--formula", "y ~ x", "--device", "cpu"};
    words.insert(words.end(), out.begin(), out.end());
    return run(words);
  };
  expect_refusal(to({"--out", path("folder")}), 3, "folder: is a directory");
  expect_refusal(to({"--out", "/dev/null"}), 3, "/dev/null: is not a regular file");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  expect_refusal(to({"--out", path("model.json"), "--run-report", path("folder")}), 3,
                 "folder: is a directory");
  expect_refusal(to({"--out", ""}), 2, "--out: the file name is empty");
  expect_refusal(to({"--run-report", ""}), 2, "--run-report: the file name is empty");
  expect_refusal(to({"--out", "-"}), 2, "--out: - is standard output: give the name of a file");
  expect_refusal(to({"--run-report", "/dev/stdout"}), 2, "--run-report: /dev/stdout is standard output");
  expect_refusal(to({"--checkpoint", "-"}), 2, "--checkpoint: - is standard output");
  expect_refusal(run({"convert", path("data.csv"), "-"}), 2, "OUT: - is standard output");
  expect_refusal(run({"convert", path("data.csv"), "/dev/null"}), 3, "/dev/null: is not a regular file");
  ASSERT_EQ(fit("data.csv", "y ~ x").status, 0);
  const std::string model = path("model.json");
  expect_line(run({"predict", model, path("data.csv"), "--out", path("folder")}), 3,
              "folder: is a directory");
  expect_line(run({"report", model, "--out", path("folder")}), 3, "folder: is a directory");
  expect_line(run({"predict", model, path("data.csv"), "--out", ""}), 2, "--out: the file name is empty");
  expect_line(run({"report", model, "--out", ""}), 2, "--out: the file name is empty");
}

TEST_F(Refusals, ToOverwriteWhatIsRead) {
  const std::string table = read("data.csv");
  const auto refused = [&](const Words& words, const std::string& why) {
    expect_line(run(words), 2, why);
    EXPECT_EQ(read("data.csv"), table);
  };
  if (rank_ == 0) {
    fs::create_symlink(path("data.csv"), path("link.csv"));
    fs::copy_file(path("data.csv"), path("m.json.cov-01234567"));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const auto with = [&](const Words& more) {
    Words words{"fit", path("data.csv"), "--formula", "y ~ x", "--device", "cpu"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  refused(with({"--out", path("./data.csv")}), "--out");
  refused(with({"--out", path("link.csv")}), "--out");
  refused(with({"--out", path("m.json"), "--run-report", path("data.csv")}), "--run-report");
  refused(with({"--out", path("m.json"), "--run-report", path("m.json")}), "is also the file of --out");
  // Other spellings, and the accompanying files.
  refused(with({"--out", path("m.json"), "--checkpoint", path("./m.json")}), "--checkpoint");
  refused(with({"--out", path("m.json"), "--checkpoint", path("no/../m.json.cov")}), "--checkpoint");
  refused(with({"--out", path("m.json"), "--run-report", path("./m.json.cov")}), "--run-report");
  refused(with({"--out", path("m.json"), "--run-report", path("./m.json.cov-0123abcd")}),
          "has a name that is reserved for the covariance of ");
  refused(
      {"fit", path("m.json.cov-01234567"), "--formula", "y ~ x", "--device", "cpu", "--out", path("m.json")},
      "m.json.cov-01234567 has a name that is reserved for the covariance of ");
  refused(with({"--checkpoint", path("state"), "--out", path("./state.previous")}), "--checkpoint");
  refused(with({"--checkpoint", path("state"), "--out", path("./state.generation-7")}),
          "--out " + path("./state.generation-7") +
              " has a name that is reserved for a file of --checkpoint " + path("state") +
              ": give another file name");
  refused(with({"--checkpoint", path("./data.csv"), "--out", path("m.json")}), "is also an input");
  const std::string own =
      "name = \"own\"\ninverse_link = \"eta\"\nderivative = \"1\"\nvariance = \"1\"\ndeviance = \"(y - "
      "mu)^2\"\n";
  write("own.toml", own);
  refused(with({"--family", "@" + path("own.toml"), "--out", path("./own.toml")}), "--out");
  EXPECT_EQ(read("own.toml"), own);
  EXPECT_FALSE(fs::exists(path("m.json")));
  ASSERT_EQ(fit("data.csv", "y ~ x").status, 0);
  const std::string model = read("model.json");
  for (const std::string& out : {path("data.csv"), path("model.json"), path("./model.json.cov")})
    refused({"predict", path("model.json"), path("data.csv"), "--out", out}, "--out");
  EXPECT_EQ(read("model.json"), model);
}

TEST_F(Refusals, NameTheLineOfATextWhereTheModelHasANumber) {
  ASSERT_EQ(fit("data.csv", "y ~ z + f + s(x, bs=\"ps\", k=12) + offset(few)").status, 0);
  const std::pair<const char*, const char*> rows[] = {
      {"'x'", "word,0.5,1,a"}, {"'z'", "0.5,word,1,a"}, {"'few'", "0.5,0.5,word,a"}};
  for (const auto& [column, row] : rows) {
    write("new.csv", std::string("x,z,few,f\n0.5,0.5,1,b\n") + row + "\n");
    expect_line(run({"predict", path("model.json"), path("new.csv"), "--out", path("pred.csv")}), 3,
                "line 3: the column " + std::string(column) + " holds the text 'word'");
    EXPECT_FALSE(fs::exists(path("pred.csv")));
  }
}

TEST_F(Refusals, OfOtherRowsThanThoseOfTheModel) {
  ASSERT_EQ(fit("data.csv", "y ~ s(x)").status, 0);
  std::string changed = example_table();
  changed.insert(changed.find('\n') + 1, "9");
  write("changed.csv", changed);
  expect_line(run({"check", path("model.json"), path("changed.csv"), "--threads", "1"}), 3,
              "the values or rows of the response differ from the response of the fit");
  ASSERT_EQ(run({"fit", path("changed.csv"), "--formula", "y ~ s(z)", "--device", "cpu", "--threads", "1",
                 "--out", path("other.json")})
                .status,
            0);
  expect_line(run({"anova", path("model.json"), path("other.json")}), 3,
              "the values or rows of the response differ from the response of");
}

TEST_F(Refusals, OfAFileThatIsNoModel) {
  const auto expect_refused = [&](const char* text, const char* why) {
    write("other.json", text);
    expect_refusal(run({"summary", path("other.json")}), 3, std::string("other.json: ") + why);
    MPI_Barrier(MPI_COMM_WORLD);
  };
  for (const char* text : {"", "{}", "[1,2"}) expect_refused(text, "is not a model");
  expect_refused("{\"format\":\"tessera-fit model\",\"version\":999}", "the file has format version 999");
  expect_refused("{\"format\":\"tessera-fit model\",\"version\":1}",
                 "the file was written by an older version of tessera-fit");
  expect_refused("{\"format\":\"tessera-fit model\",\"version\":2}", "is damaged");
}

TEST_F(Refusals, OfAFileWithoutAnEndComeAtOnce) {
  expect_refusal(run({"summary", "/dev/zero"}), 3, "/dev/zero: cannot be read: it is not a regular file");
  expect_refusal(run({"predict", "/dev/zero", path("data.csv")}), 3, "it is not a regular file");
  expect_refusal(fit("data.csv", "y ~ x", {"--family", "@/dev/zero"}), 3, "it is not a regular file");
  write("wrong.toml", "name = \"mine\"\nvariance = 3\n");
  expect_refusal(fit("data.csv", "y ~ x", {"--family", "@" + path("wrong.toml")}), 3, "wrong.toml: ");
}

}  // namespace
}  // namespace tessera
