// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include "common/pages.hpp"
#include "support/errors.hpp"

namespace tessera::apps {
namespace {

/// A program with every kind of argument.
class Pages : public ::testing::Test {
 protected:
  Pages() {
    app_.fallthrough();
    app_.footer(footer("0 answer; 2 usage; 6 job fault"));
    app_.require_subcommand(1);
    app_.add_flag("--json", json_, "Print JSON");
    app_.add_option("--secret", text_, "Not for users")->group("");
    CLI::App* cut = app_.add_subcommand("cut", "Cut it");
    cut->add_option("FILE", text_, "What to cut")->required();
    cut->add_option("--by", text_, "Say 'how': \\ or .5-up")->required();
    cut->add_option("-m,--mode", mode_, "How")->check(CLI::IsMember({"fast", "slow"}))->capture_default_str();
    cut->add_option("--depth", depth_, "How deep")->check(CLI::Range(0, 9));
  }

  [[nodiscard]] std::string man() const { return man_page(app_, "2026-01-31"); }

  /// The completions of bash for these words; the last one is being typed.
  [[nodiscard]] std::string completed(const std::string& words) const {
    const std::string script =
        bash_completion(app_) + "COMP_WORDS=(" + words +
        "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _a_program; echo \"${COMPREPLY[*]}\"";
    std::string quoted;
    for (const char c : script) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(
        popen(("bash -u -c '" + quoted + "'").c_str(), "r"), pclose);
    std::array<char, 1024> line{};
    if (!pipe || std::fgets(line.data(), line.size(), pipe.get()) == nullptr) return "bash failed";
    const std::string text = line.data();
    return text.substr(0, text.size() - 1);
  }

  CLI::App app_{"Cuts things. Well.", "a-program"};
  bool json_ = false;
  std::string text_;
  std::string mode_ = "fast";
  int depth_ = 0;
};

TEST_F(Pages, ManPageHasTheSections) {
  const std::string page = man();
  std::size_t place = 0;
  for (const char* section :
       {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "SEE ALSO"}) {
    place = page.find("\n.SH " + std::string(section) + '\n', place);
    ASSERT_NE(place, std::string::npos) << section << " in\n" << page;
  }
  EXPECT_NE(page.find(".TH A\\-PROGRAM 1 2026-01-31 "), std::string::npos);
}

TEST_F(Pages, ManPageSaysWhatTheCommandLineTakes) {
  const std::string page = man();
  EXPECT_TRUE(contains(
      page, "\\fBa\\-program cut\\fR \\fB\\-\\-by\\fR \\fITEXT\\fR [\\fIoptions\\fR] \\fIFILE\\fR\n"));
  EXPECT_TRUE(
      contains(page, "\\fB\\-m\\fR, \\fB\\-\\-mode\\fR \\fBfast\\fR|\\fBslow\\fR\nHow.\nDefault: fast.\n"));
  EXPECT_NE(page.find("How deep.\nLimits: 0 \\- 9.\n"), std::string::npos) << page;
  EXPECT_NE(page.find(".TP\n\\fB6\\fR\njob fault\n"), std::string::npos) << page;
  EXPECT_NE(page.find("\\fBTESSERA_SIMULATE\\fR\nsimulated devices"), std::string::npos) << page;
  EXPECT_EQ(page.find("secret"), std::string::npos) << page;
}

TEST_F(Pages, ManPageTakesNoTextForACommand) {
  EXPECT_NE(man().find("\nSay \\(aqhow\\(aq: \\e or .5\\-up.\nRequired.\n"), std::string::npos) << man();
  CLI::App dotted{".first \"quoted\"", "p"};
  dotted.footer(footer("0 answer"));
  EXPECT_TRUE(contains(man_page(dotted, ""), "\n\\&.first \\(dqquoted\\(dq.\n"));
}

TEST_F(Pages, BashCompletes) {
  EXPECT_EQ(completed("a-program ''"), "cut --help --json");
  EXPECT_EQ(completed("a-program --j"), "--json");
  EXPECT_EQ(completed("a-program cut --mo"), "--mode");
  EXPECT_EQ(completed("a-program cut --mode ''"), "fast slow");
  EXPECT_EQ(completed("a-program cut -m s"), "slow");
  EXPECT_EQ(completed("a-program cut --mode ="), "fast slow");
  EXPECT_EQ(completed("a-program cut --mode = f"), "fast");
  EXPECT_EQ(completed("a-program cut --js"), "--json");  // falls through to the program
}

TEST_F(Pages, BashLeavesFilesToItsDefault) {
  EXPECT_EQ(completed("a-program cut ''"), "");
  EXPECT_EQ(completed("a-program cut --by ''"), "");
  EXPECT_EQ(completed("a-program cut --by --mo"), "");  // a value, whatever it looks like
}

TEST_F(Pages, HelpSaysWhatAnOptionTakesAndMustBe) {
  CLI::App app{"Cuts.", "a-program"};
  app.formatter(help_layout());
  CLI::App* cut = app.add_subcommand("cut", "Cut it");
  cut->add_option("FILE", text_, "What to cut")->required();
  cut->add_option("--by", text_, "How")->required();
  cut->add_option("-m,--mode", mode_, "Mode")->check(CLI::IsMember({"fast", "slow"}))->capture_default_str();
  cut->add_option("--depth", depth_, "How deep")->check(CLI::Range(0, 9))->capture_default_str();
  cut->add_flag("--json", json_, "Print JSON");
  const std::string help = cut->help();
  for (const char* line :
       {"\n  FILE                        What to cut\n", "\n  --by TEXT                   How (required)\n",
        "\n  -m,--mode fast|slow         Mode (default fast)\n",
        "\n  --depth INT                 How deep (0 to 9, default 0)\n",
        "\n  --json                      Print JSON\n"}) {
    EXPECT_NE(help.find(line), std::string::npos) << line << " is not in\n" << help;
  }
}

}  // namespace
}  // namespace tessera::apps
