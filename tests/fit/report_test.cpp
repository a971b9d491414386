// SPDX-License-Identifier: Apache-2.0
// tessera-fit report as its users meet it: from a fit under mpirun to a page that stands alone.
#include "info/run_program.hpp"
#include "support/well_formed.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {
namespace {

namespace fs = std::filesystem;

/// A folder with a model of one term of each kind and the report of its run, from two ranks; fitted once.
class Report : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string name = (fs::temp_directory_path() / "tessera-report-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    // Covariates that fill the unit interval evenly; deterministic, so that no seed is needed.
    std::ostringstream table;
    table.precision(17);
    table << "y,v,w,x,z,f\n";
    for (int i = 0; i < 400; ++i) {
      const auto covariate = [&](double step) { return std::fmod(i * step, 1.0); };
      const double v = covariate(0.6180339887498949);
      const double w = covariate(0.7548776662466927);
      const double x = covariate(0.8191725133961645);
      const double z = covariate(0.4142135623730951);
      table << std::sin(6 * v) + (1 + i % 3) * x * x + w * z + i % 3 + 0.1 * std::cos(97.0 * i) << ',' << v
            << ',' << w << ',' << x << ',' << z << ',' << "abc"[i % 3] << '\n';
    }
    write("data.csv", table.str());
    fit("y ~ f + s(v, bs=\"ps\", k=10) + s(x, by=f, bs=\"cr\", k=6) + te(w, z, bs=\"ps\", k=5)", "model.json",
        "--block-rows 100 --run-report " + path("run.json"));
  }
  static void TearDownTestSuite() { fs::remove_all(folder_); }

  static std::string path(const std::string& name) { return (folder_ / name).string(); }
  static void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  static std::string read(const std::string& name) {
    std::ifstream file(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void fit(const std::string& formula, const std::string& model, const std::string& more,
                  int status = 0) {
    const auto fitted = run(TESSERA_MPIRUN " 2 " TESSERA_FIT " fit " + path("data.csv") + " --formula '" +
                            formula + "' --device cpu --threads 1 --out " + path(model) + " " + more);
    ASSERT_EQ(fitted.status, status) << fitted.err;
  }

  /// The page of a model, which must be there and be one. Any other new file is a failure.
  static std::string page_of(const std::string& model, const std::string& more = {}) {
    const std::size_t files = count_files();
    const auto written =
        run(TESSERA_FIT " report " + path(model) + " --out " + path("page.html") + " " + more);
    EXPECT_EQ(written.status, 0) << written.err;
    EXPECT_EQ(written.out, "");
    std::string page = read("page.html");
    fs::remove(path("page.html"));
    EXPECT_EQ(count_files(), files);
    EXPECT_EQ(gam::testing::xml_fault(page), "");
    return page;
  }
  static std::size_t count_files() {
    const fs::directory_iterator files(folder_);
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
  }

  static fs::path folder_;
};

fs::path Report::folder_;

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; ++at) ++found;
  return found;
}

/// What comes after the heading of that name, up to the next one.
std::string section(const std::string& page, const std::string& name) {
  const std::size_t begin = page.find("<h2 id=\"" + name + "\">");
  if (begin == std::string::npos) return {};
  return page.substr(begin, page.find("</section>", begin) - begin);
}

TEST_F(Report, HasEveryTermTheChecksAndTheRun) {
  const std::string page = page_of("model.json", "--run-report " + path("run.json"));
  const std::string summary = section(page, "summary");
  EXPECT_EQ(count(summary, "<caption>"), 2U) << "coefficients and smooths";

  // One curve for s(v) and one a level for s(x), each with its band; the surface and its error as maps.
  const std::string smooths = section(page, "smooths");
  for (const char* title : {"s(v,", "s(x,", ":fa", ":fb", ":fc", "te(w,z,"})
    EXPECT_NE(smooths.find(title), std::string::npos) << title;
  EXPECT_EQ(count(smooths, "class=\"line\""), 4U);
  EXPECT_EQ(count(smooths, "class=\"band\""), 4U);
  EXPECT_EQ(count(smooths, "class=\"strip\""), 4U);
  EXPECT_EQ(count(smooths, "<svg"), 6U);
  EXPECT_GE(count(smooths, "class=\"contour\""), 2U);

  const std::string factors = section(page, "factors");
  EXPECT_EQ(count(factors, "<svg"), 1U);
  for (const char* level : {">a</text>", ">b</text>", ">c</text>"})
    EXPECT_NE(factors.find(level), std::string::npos) << level;

  const std::string residuals = section(page, "residuals");
  EXPECT_EQ(count(residuals, "<svg"), 3U);
  EXPECT_NE(residuals.find("all 400 rows"), std::string::npos);

  const std::string ran = section(page, "run");
  EXPECT_EQ(count(ran, "<svg"), 2U) << "plan and timeline";
  EXPECT_NE(ran.find("computed on the CPU"), std::string::npos);
  EXPECT_EQ(count(ran, ">CPU</td>"), 2U) << "a row a rank";
  for (const char* phase : {"read", "design", "outline"})
    EXPECT_NE(ran.find(">" + std::string(phase)), std::string::npos) << phase;
}

TEST_F(Report, StandsAlone) {
  std::string page = page_of("model.json", "--run-report " + path("run.json"));
  // Names of markup, not addresses that are looked up.
  for (const std::string name :
       {"xmlns=\"http://www.w3.org/1999/xhtml\"", "xmlns=\"http://www.w3.org/2000/svg\""}) {
    ASSERT_NE(page.find(name), std::string::npos);
    for (std::size_t at = 0; (at = page.find(name, at)) != std::string::npos;) page.erase(at, name.size());
  }
  for (const char* outside : {"http:", "https:", "//www", "src=", "href=", "url(", "@import", "<script",
                              "<link", "<iframe", "<img", "onload=", "file:"}) {
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  }
}

TEST_F(Report, IsTheSameFromAnyNumberOfRanks) {
  const std::string page = page_of("model.json");
  EXPECT_EQ(
      run(TESSERA_MPIRUN " 3 " TESSERA_FIT " report " + path("model.json") + " --out " + path("page.html"))
          .status,
      0);
  EXPECT_EQ(read("page.html"), page);
  fs::remove(path("page.html"));
}

TEST_F(Report, SaysWhatTheModelDoesNotHold) {
  const std::string without_run = page_of("model.json");
  EXPECT_NE(section(without_run, "run").find("--run-report"), std::string::npos);

  auto model = nlohmann::json::parse(read("model.json"));
  model["family"] = "poisson";
  model["link"] = "log";
  write("counts.json", model.dump());
  EXPECT_NE(section(page_of("counts.json"), "residuals").find("where counts are large"), std::string::npos);
  EXPECT_EQ(section(without_run, "residuals").find("close to normal"), std::string::npos);

  ASSERT_EQ(model.erase("outline"), 1U);
  write("bare.json", model.dump());
  const std::string bare = page_of("bare.json");
  EXPECT_EQ(count(section(bare, "smooths"), "class=\"line\""), 4U);
  EXPECT_EQ(count(section(bare, "smooths"), "class=\"strip\""), 0U);
  EXPECT_NE(section(bare, "smooths").find("does not hold where the rows lie"), std::string::npos);
  EXPECT_NE(section(bare, "residuals").find("holds no residuals"), std::string::npos);
  EXPECT_EQ(count(section(bare, "residuals"), "<svg"), 0U);
}

TEST_F(Report, OfAFitThatKeptNoResidualsAndDidNotConvergeSaysSo) {
  fit("exp(y) ~ s(v, bs=\"ps\", k=10)", "other.json", "--family gamma --max-iterations 1 --no-residuals", 4);
  const std::string page = page_of("other.json");
  EXPECT_NE(section(page, "summary").find("not converged"), std::string::npos);
  EXPECT_NE(section(page, "smooths").find("class=\"strip\""), std::string::npos);
  EXPECT_NE(section(page, "residuals").find("--no-residuals"), std::string::npos);
  EXPECT_EQ(section(page, "factors"), "");
  EXPECT_EQ(section(page_of("model.json"), "summary").find("not converged"), std::string::npos);
}

/// One line with the words, the status, and every file as it was.
void expect_refusal(const ProgramResult& result, int status, std::string_view words) {
  EXPECT_EQ(result.status, status) << result.err;
  EXPECT_EQ(count(result.err, "\n"), 1U) << result.err;
  EXPECT_TRUE(result.err.starts_with("tessera-fit: ")) << result.err;
  EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
}

TEST_F(Report, RefusesWhatItCannotShowAndLeavesNothing) {
  const std::string model = path("model.json");
  const std::string ran = read("run.json");
  write("half.json", ran.substr(0, ran.size() / 2));
  auto shorter = nlohmann::json::parse(ran);
  shorter["plan"]["units"] = 399;
  write("shorter.json", shorter.dump());
  auto newer = nlohmann::json::parse(ran);
  newer["version"] = 3;
  write("newer.json", newer.dump());
  auto without_plan = nlohmann::json::parse(ran);
  without_plan.erase("plan");
  write("without_plan.json", without_plan.dump());
  auto other_model = nlohmann::json::parse(read("model.json"));
  other_model["iterations"] = 2;
  write("other_model.json", other_model.dump());
  write("page.html", "an older page");
  const std::size_t files = count_files();

  struct Case {
    std::string arguments;
    int status;
    const char* words;
  };
  const std::string out = " --out " + path("page.html");
  for (const Case& refused : std::vector<Case>{
           {path("no.json") + out, 3, "no.json"},
           {path("run.json") + out, 3, "run.json"},
           {model + out + " --run-report " + path("no.json"), 3, "no.json"},
           {model + out + " --run-report " + model, 3, "model.json"},
           {model + out + " --run-report " + path("half.json"), 3, "half.json"},
           {model + out + " --run-report " + path("newer.json"), 3, "newer tessera-fit"},
           {model + out + " --run-report " + path("without_plan.json"), 3, "without_plan.json: is damaged"},
           {model + out + " --run-report " + path("shorter.json"), 3,
            "is damaged: plan.rank_ranges[1][1]: is 400, and not a whole number from 200 to 399"},
           {path("other_model.json") + out + " --run-report " + path("run.json"), 3,
            "run.json: is the run report of another model than "},
           {model + " --out " + path("no/page.html"), 3, "no/page.html"},
           {model + " --out " + model, 2, "--out"},
           {model + " --run-report " + path("run.json") + " --out " + path("./run.json"), 2, "--out"},
           {"", 2, "MODEL"},
       }) {
    SCOPED_TRACE(refused.arguments);
    expect_refusal(run(TESSERA_FIT " report " + refused.arguments), refused.status, refused.words);
    EXPECT_EQ(read("page.html"), "an older page");
    EXPECT_EQ(read("run.json"), ran);
    EXPECT_EQ(count_files(), files);
  }
  fs::remove(path("page.html"));
}

}  // namespace
}  // namespace tessera
