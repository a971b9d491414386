// SPDX-License-Identifier: Apache-2.0
#include "common/usage_complaint.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/did_you_mean.hpp"

namespace tessera::apps {
namespace {

struct Slip {
  std::vector<std::string> arguments;
  std::string complaint;
};

/// The message of a program with two subcommands, one with required arguments, for its arguments.
std::string complaint_about(std::vector<std::string> arguments, bool fallthrough = false) {
  CLI::App app{"Cuts things.", "a-program"};
  app.require_subcommand(1);
  app.fallthrough(fallthrough);
  bool json = false;
  std::string text;
  int depth = 0;
  app.add_flag("--json", json, "Print JSON");
  CLI::App* cut = app.add_subcommand("cut", "Cut it");
  cut->add_option("FILE", text, "What to cut")->required();
  cut->add_option("--by", text, "How")->required();
  cut->add_option("--depth", depth, "How deep")->check(CLI::Range(0, 9));
  app.add_subcommand("glue", "Glue it");
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& fault) {
    return usage_complaint(app, fault);
  }
  return "nothing";
}

TEST(UsageComplaint, NamesTheSlipAndWhoseHelpHelps) {
  for (const Slip& slip : std::vector<Slip>{
           {{"cut", "file", "--by", "hand"}, "nothing"},
           {{"cut", "file", "--bye", "hand"},
            "--bye is not an option of a-program cut (did you mean '--by'?); see a-program cut --help"},
           {{"cut", "file", "--dept=3", "--by", "hand"},
            "--dept is not an option of a-program cut (did you mean '--depth'?); see a-program cut --help"},
           {{"cut", "file", "--by", "hand", "--colour", "red"},
            "--colour is not an option of a-program cut; see a-program cut --help"},
           {{"cut", "file", "other", "--by", "hand"},
            "'other' is one argument too many for a-program cut; see a-program cut --help"},
           {{"cut", "file"}, "--by is required; see a-program cut --help"},
           {{"cot", "file"},
            "'cot' is not a subcommand (did you mean 'cut'?): give cut or glue; see a-program --help"},
           {{}, "the subcommand is missing: give cut or glue; see a-program --help"},
           {{"--jsn"}, "--jsn is not an option of a-program (did you mean '--json'?); see a-program --help"},
       }) {
    EXPECT_EQ(complaint_about(slip.arguments), slip.complaint);
  }
  const std::string range = complaint_about({"cut", "file", "--by", "hand", "--depth", "12"});
  EXPECT_TRUE(range.starts_with("--depth: ")) << range;
  EXPECT_TRUE(range.ends_with("; see a-program cut --help")) << range;
}

TEST(UsageComplaint, KnowsTheProgramsOwnOptionsWhereASubcommandTakesThem) {
  EXPECT_EQ(complaint_about({"glue", "--jsno"}, true),
            "--jsno is not an option of a-program glue (did you mean '--json'?); see a-program glue --help");
  EXPECT_EQ(complaint_about({"glue", "--jsno"}),
            "--jsno is not an option of a-program glue; see a-program glue --help");
}

TEST(DidYouMean, NamesTheNearestAlone) {
  const std::vector<std::string> names{"price", "Carat", "x", "y", "prices", "p1", "p2", "p3", "p4"};
  EXPECT_EQ(base::did_you_mean(names, "prize"), " (did you mean 'price'?)");
  EXPECT_EQ(base::did_you_mean(names, "carat"), " (did you mean 'Carat'?)");
  EXPECT_EQ(base::did_you_mean(names, "X"), " (did you mean 'x'?)");
  EXPECT_EQ(base::did_you_mean(names, "z"), "");
  EXPECT_EQ(base::did_you_mean(names, "p5"), " (did you mean 'p1' or 'p2' or 'p3'?)");
  EXPECT_EQ(base::did_you_mean(names, "colour"), "");
  EXPECT_EQ(base::did_you_mean({}, "price"), "");
  EXPECT_EQ(base::names_like(names, "X"), " (did you mean 'x'?)");
  EXPECT_EQ(base::names_like(names, "colour"), " (it has 'price', 'Carat', 'x' and 6 more)");
}

}  // namespace
}  // namespace tessera::apps
