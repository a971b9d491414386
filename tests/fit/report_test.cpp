// SPDX-License-Identifier: Apache-2.0
// tessera-fit report as users meet it: from a fit under mpirun to a self-contained page.
#include "info/run_program.hpp"
#include "support/well_formed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
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

  /// The page of a model, which must exist and be the only new file.
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

/// The text from the heading of that name to the next heading.
std::string section(const std::string& page, const std::string& name) {
  const std::size_t begin = page.find("<h2 id=\"" + name + "\">");
  if (begin == std::string::npos) return {};
  return page.substr(begin, page.find("</section>", begin) - begin);
}

TEST_F(Report, HasEveryTermTheChecksAndTheRun) {
  const std::string page = page_of("model.json", "--run-report " + path("run.json"));
  const std::string summary = section(page, "summary");
  EXPECT_EQ(count(summary, "<caption>"), 2U) << "coefficients and smooths";

  // s(v) has one curve, and s(x) one per level in one plot, each with a band; the surface and its error are
  // maps.
  const std::string smooths = section(page, "smooths");
  for (const char* title : {"s(v,", "s(x):f", ">a, ", ">b, ", ">c, ", "te(w,z,"})
    EXPECT_NE(smooths.find(title), std::string::npos) << title;
  EXPECT_EQ(count(smooths, "class=\"line\""), 1U);
  EXPECT_EQ(count(smooths, "class=\"line k"), 6U) << "with the key";
  EXPECT_EQ(count(smooths, "class=\"band"), 4U);
  EXPECT_EQ(count(smooths, "class=\"strip\""), 2U);
  EXPECT_EQ(count(smooths, "<svg"), 4U);
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

TEST_F(Report, CountsADeviceThatRanksShareOnce) {
  const auto fitted =
      run("TESSERA_SIMULATE='*:H200@node' " TESSERA_MPIRUN " 2 " TESSERA_FIT " fit " + path("data.csv") +
          " --formula 'y ~ f' --device gpu --allow-sharing --threads 1 --block-rows 100 --out " +
          path("shared.json") + " --run-report " + path("shared_run.json"));
  ASSERT_EQ(fitted.status, 0) << fitted.err;
  EXPECT_NE(fitted.err.find("to run on 1 simulated device"), std::string::npos) << fitted.err;
  EXPECT_NE(read("shared_run.json").find("computed on 1 simulated device in 2 shares"), std::string::npos);
  const std::string ran = section(page_of("shared.json", "--run-report " + path("shared_run.json")), "run");
  EXPECT_NE(ran.find("<dt>Devices</dt><dd>1</dd>"), std::string::npos) << ran;
}

TEST_F(Report, StandsAlone) {
  std::string page = page_of("model.json", "--run-report " + path("run.json"));
  // Names of markup, not addresses that are loaded.
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
  EXPECT_EQ(count(section(bare, "smooths"), "class=\"band"), 4U);
  EXPECT_EQ(count(section(bare, "smooths"), "class=\"strip\""), 0U);
  EXPECT_NE(section(bare, "smooths").find("does not hold where the rows lie"), std::string::npos);
  EXPECT_NE(section(bare, "residuals").find("holds no residuals"), std::string::npos);
  EXPECT_EQ(count(section(bare, "residuals"), "<svg"), 0U);
}

TEST_F(Report, ShowsTheRowsOfTheTable) {
  const std::string page = page_of("model.json", "--data " + path("data.csv"));
  const std::string smooths = section(page, "smooths");
  EXPECT_EQ(count(smooths, "class=\"points partial"), 4U) << "one a curve";
  EXPECT_EQ(count(smooths, "class=\"rug\""), 2U);
  EXPECT_EQ(count(smooths, "class=\"places\""), 1U);
  EXPECT_EQ(count(smooths, "class=\"strip\""), 0U);
  EXPECT_NE(smooths.find("show all 400 rows"), std::string::npos);
  for (const char* ranks : {"2", "3"}) {
    const auto written =
        run(std::string(TESSERA_MPIRUN) + " " + ranks + " " TESSERA_FIT " report " + path("model.json") +
            " --threads 2 --data " + path("data.csv") + " --out " + path("page.html"));
    EXPECT_EQ(written.status, 0) << written.err;
    EXPECT_EQ(read("page.html"), page) << ranks;
  }
  fs::remove(path("page.html"));
}

TEST_F(Report, ShowsResidualsAgainstEachCovariate) {
  const std::string folder = path("figures");
  const std::string page = page_of("model.json", "--data " + path("data.csv"));
  const std::string covariates = section(page, "covariates");
  EXPECT_EQ(count(covariates, "<svg"), 5U);
  for (const char* title : {"against v", "against w", "against x", "against z", "by f"})
    EXPECT_NE(covariates.find("<title>Residuals " + std::string(title) + "</title>"), std::string::npos)
        << title;
  EXPECT_EQ(count(section(page, "residuals"), "<title>Observed against fitted</title>"), 1U);
  const std::string without = page_of("model.json");
  EXPECT_EQ(section(without, "covariates"), "");
  EXPECT_NE(section(without, "checks").find("--data"), std::string::npos);

  ASSERT_EQ(run(TESSERA_FIT " report " + path("model.json") + " --data " + path("data.csv") + " --out " +
                path("page.html") + " --figures " + folder)
                .status,
            0);
  EXPECT_TRUE(read("figures/residuals_v.csv").starts_with("v,mean_residual,rows,lower,upper\n"));
  EXPECT_EQ(count(read("figures/residuals_v.csv"), "\n"), 21U) << "groups of 20 rows";
  EXPECT_EQ(count(read("figures/residuals_v-points.csv"), "\n"), 401U);
  EXPECT_EQ(count(read("figures/residuals_f.csv"), "\n"), 4U);
  EXPECT_EQ(count(read("figures/residuals_f-points.csv"), "\n\"b\","), 133U);
  EXPECT_EQ(count(read("figures/observed_fitted-points.csv"), "\n"), 401U);
  for (const char* name : {"residuals_v", "residuals_f", "residuals_predictor", "observed_fitted"}) {
    const std::string svg = read("figures/" + std::string(name) + ".svg");
    EXPECT_EQ(gam::testing::xml_fault(svg.substr(svg.find("<svg"))), "") << name;
  }
  fs::remove_all(folder);
  fs::remove(path("page.html"));
}

/// The texts of a row of a table of the page.
std::vector<std::string> cells_of(const std::string& text, const std::string& row) {
  std::vector<std::string> cells;
  const std::size_t begin = text.find("<th scope=\"row\">" + row + "</th>");
  const std::string line = text.substr(begin, text.find("</tr>", begin) - begin);
  for (std::size_t at = 0; (at = line.find("<td", at)) != std::string::npos;) {
    at = line.find('>', at) + 1;
    cells.push_back(line.substr(at, line.find('<', at) - at));
  }
  return cells;
}

TEST_F(Report, HasTheChecksOfTheTable) {
  const std::string data = " --data " + path("data.csv");
  const std::string page = section(page_of("model.json", data), "checks");
  const auto checked =
      successful(run(TESSERA_FIT " check " + path("model.json") + " " + path("data.csv") + " --json"));
  const auto check = nlohmann::json::parse(checked.out);
  const auto text = [](const nlohmann::json& number, const char* form) {
    std::array<char, 40> out{};
    std::snprintf(out.data(), out.size(), form, number.get<double>());
    return std::string(out.data());
  };
  const std::string bases = page.substr(0, page.find("<caption>Concurvity"));
  ASSERT_EQ(check.at("bases").size(), 5U);
  for (const auto& one : check.at("bases")) {
    const auto cells = cells_of(bases, one.at("term"));
    ASSERT_EQ(cells.size(), 5U) << one;
    EXPECT_EQ(cells[0], text(one.at("coefficients"), "%.0f"));
    EXPECT_EQ(cells[1], text(one.at("edf"), "%.2f"));
    EXPECT_EQ(cells[2], text(one.at("k_index"), "%.2f"));
    EXPECT_EQ(cells[3], one.at("p_value") == 0 ? "&lt;2e-16" : text(one.at("p_value"), "%.3g"));
  }
  EXPECT_NE(page.find("all 400 rows, 400 permutations, seed 1"), std::string::npos);
  const std::string concurvity = page.substr(bases.size());
  const auto& terms = check.at("concurvity").at("terms");
  ASSERT_EQ(terms.size(), 6U);
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const auto cells = cells_of(concurvity, terms[t]);
    ASSERT_EQ(cells.size(), 3U) << terms[t];
    const auto& whole = check.at("concurvity").at("whole");
    EXPECT_EQ(cells[0], text(whole.at("worst")[t], "%.3g"));
    EXPECT_EQ(cells[1], text(whole.at("observed")[t], "%.3g"));
    EXPECT_EQ(cells[2], text(whole.at("estimate")[t], "%.3g"));
  }
  const std::string without = section(page_of("model.json", data + " --largest-concurvity 0"), "checks");
  EXPECT_EQ(without.find("<caption>Concurvity"), std::string::npos);
  EXPECT_NE(without.find("<caption>Dimensions of bases"), std::string::npos);
}

TEST_F(Report, OfALargeTableShowsASampleOfItsRowsAndSaysSo) {
  std::ostringstream table;
  table << "y,v,w\n";
  for (int i = 0; i < 5000; ++i)
    table << std::sin(0.01 * i) + 0.1 * std::cos(97.0 * i) << ',' << 0.01 * i << ',' << 0.01 * i << '\n';
  write("large.csv", table.str());
  successful(run(TESSERA_FIT " fit " + path("large.csv") +
                 " --formula 'y ~ s(v)' --device cpu --threads 1 --out " + path("large.json")));
  const std::string page = page_of("large.json", "--data " + path("large.csv"));
  EXPECT_NE(section(page, "smooths").find("show 4,096 of the 5,000 rows, spread evenly over the table"),
            std::string::npos);
  EXPECT_EQ(count(section(page, "smooths"), "class=\"strip\""), 1U) << "counts, as lines would meet";
  for (const char* name : {"large.csv", "large.json"}) fs::remove(path(name));
}

TEST_F(Report, DrawsCountsAndProportionsAsTheyShouldBe) {
  std::ostringstream table;
  table << "c,b,k,v\n";
  for (int i = 0; i < 400; ++i) {
    const double v = std::fmod(i * 0.6180339887498949, 1.0);
    const double u = std::fmod(i * 0.7548776662466927, 1.0);
    table << static_cast<int>(std::exp(1 + std::sin(6 * v)) * 2 * u) << ',' << (u < 0.2 + 0.6 * v ? 1 : 0)
          << ',' << 1 + i % 3 << ',' << v << '\n';
  }
  write("discrete.csv", table.str());
  struct Case {
    const char* arguments;
    const char* kind;
    const char* picture;
    unsigned figures;
    bool needs_table;
  };
  for (const Case& one : std::vector<Case>{
           {"--formula 'c ~ s(v)' --family poisson", "Quantile", "<title>Rootogram</title>", 5, false},
           {"--formula 'c ~ s(v)' --family nb", "Quantile", "<title>Rootogram</title>", 5, false},
           {"--formula 'c ~ s(v)' --family quasipoisson", "Deviance", "<title>Binned residuals</title>", 4,
            false},
           {"--formula 'b ~ s(v)' --family binomial", "Quantile", "<title>Observed against fitted", 5, false},
           {"--formula 'cbind(b, k) ~ s(v)' --family binomial", "Quantile", "<title>Observed against", 5,
            true},
       }) {
    SCOPED_TRACE(one.arguments);
    const auto fitted = successful(run(TESSERA_FIT " fit " + path("discrete.csv") + " " + one.arguments +
                                       " --device cpu --threads 1 --out " + path("discrete.json")));
    const std::string with = section(page_of("discrete.json", "--data " + path("discrete.csv")), "residuals");
    EXPECT_NE(with.find(one.kind + std::string(" residuals of all 400 rows")), std::string::npos);
    EXPECT_NE(with.find(one.picture), std::string::npos);
    const bool binomial = std::string_view(one.arguments).ends_with("binomial");
    EXPECT_EQ(count(with, "<svg"), one.figures + (binomial ? 0 : 1)) << "observed against fitted";
    const std::string without = section(page_of("discrete.json"), "residuals");
    if (one.needs_table)
      EXPECT_NE(without.find("Deviance residuals"), std::string::npos);
    else
      EXPECT_EQ(count(without, "<svg"), one.figures) << "residuals of the model tell the responses";
  }
  for (const char* name : {"discrete.csv", "discrete.json"}) fs::remove(path(name));
}

TEST_F(Report, GivesACurveThatWouldBeFlatAnAxisOfItsOwn) {
  fit("I(1000 * v + y) ~ s(v, bs=\"ps\", k=10) + s(x, bs=\"cr\", k=6)", "steep.json", "");
  EXPECT_EQ(count(page_of("steep.json"), "An axis of its own"), 1U);
  EXPECT_EQ(count(page_of("steep.json", "--y-scale own"), "An axis of its own"), 0U);
  EXPECT_EQ(count(page_of("model.json"), "An axis of its own"), 0U);
  fs::remove(path("steep.json"));
}

/// The names of the files in a folder.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

TEST_F(Report, WritesEachFigureAloneWithItsNumbers) {
  const std::string folder = path("figures");
  const std::string command = TESSERA_FIT " report " + path("model.json") + " --data " + path("data.csv") +
                              " --run-report " + path("run.json") + " --out " + path("page.html") +
                              " --figures " + folder;
  successful(run(command));
  const std::vector<std::string> names = names_in(folder);
  for (const char* name :
       {"f.svg", "f.csv", "figures.csv", "s_v.svg", "s_v.csv", "s_v-points.csv", "s_x_f.svg", "s_x_f.csv",
        "s_x_f-points.csv", "te_w_z.svg", "te_w_z.csv", "te_w_z_standard_error.svg",
        "residuals_quantiles.svg", "residuals_quantiles.csv", "run_rows.svg", "run_times.svg"})
    EXPECT_TRUE(std::binary_search(names.begin(), names.end(), name)) << name;
  std::size_t pictures = 0;
  for (const std::string& name : names) {
    if (!name.ends_with(".svg")) continue;
    ++pictures;
    const std::string svg = read("figures/" + name);
    EXPECT_EQ(gam::testing::xml_fault(svg.substr(svg.find("<svg"))), "") << name;
  }
  EXPECT_EQ(pictures, count(read("page.html"), "<svg"));
  EXPECT_EQ(count(read("figures/s_v-points.csv"), "\n"), 401U);
  EXPECT_EQ(count(read("figures/s_x_f.csv"), "\n"), 451U);
  EXPECT_NE(read("figures/figures.csv").find(",\"s(x):f\"\n"), std::string::npos);

  // Again, with fewer figures: its own files are replaced.
  EXPECT_EQ(run(command).status, 0);
  EXPECT_EQ(run(TESSERA_FIT " report " + path("model.json") + " --out " + path("page.html") + " --figures " +
                folder)
                .status,
            0);
  EXPECT_EQ(names_in(folder), names);
  fs::remove_all(folder);
  fs::remove(path("page.html"));
}

TEST_F(Report, OverwritesNoFileThatIsNotAFigureOfItsOwn) {
  const std::string folder = path("figures");
  const std::string command =
      TESSERA_FIT " report " + path("model.json") + " --out " + path("page.html") + " --figures " + folder;
  ASSERT_EQ(run(command).status, 0);
  const std::string page = read("page.html");
  const std::vector<std::string> names = names_in(folder);
  const auto expect_refused = [&](const std::string& why) {
    const auto refused = run(command + " --y-scale own");
    EXPECT_EQ(refused.status, 3) << why;
    EXPECT_NE(refused.err.find("give another folder"), std::string::npos) << refused.err;
    EXPECT_EQ(read("page.html"), page) << why;
    EXPECT_EQ(names_in(folder), names) << why;
  };
  const std::string own = read("figures/s_v.svg");
  write("figures/s_v.svg", own + "<!-- mine -->\n");
  expect_refused("changed by hand");
  EXPECT_EQ(read("figures/s_v.svg"), own + "<!-- mine -->\n");
  write("figures/s_v.svg", own);
  const std::string list = read("figures/figures.csv");
  write("figures/figures.csv", "a list of mine\n");
  expect_refused("the list is another's");
  write("figures/figures.csv", list);
  EXPECT_EQ(run(command + " --y-scale own").status, 0);
  fs::remove_all(folder);
  fs::remove(path("page.html"));
}

TEST_F(Report, LeavesNoFigureWhereTheyCannotAllBeWritten) {
  write("page.html", "an older page");
  // A folder in the way of a file.
  fs::create_directories(path("figures/s_v.csv"));
  const auto blocked = run(TESSERA_FIT " report " + path("model.json") + " --out " + path("page.html") +
                           " --figures " + path("figures"));
  EXPECT_EQ(blocked.status, 3);
  EXPECT_NE(blocked.err.find("s_v.csv"), std::string::npos) << blocked.err;
  EXPECT_EQ(names_in(path("figures")), std::vector<std::string>{"s_v.csv"});
  fs::remove_all(path("figures"));
  for (const std::string& folder : {path("no/figures"), path("data.csv")}) {
    const auto refused = run(TESSERA_FIT " report " + path("model.json") + " --out " + path("page.html") +
                             " --figures " + folder);
    EXPECT_EQ(refused.status, 3) << folder;
    EXPECT_EQ(count(refused.err, "\n"), 1U) << refused.err;
    EXPECT_EQ(read("page.html"), "an older page");
  }
  // A figure does not replace the input file or the page itself.
  const auto same = run(TESSERA_FIT " report " + path("model.json") + " --out " + path("figures.csv") +
                        " --figures " + folder_.string());
  EXPECT_EQ(same.status, 2) << same.err;
  EXPECT_FALSE(fs::exists(path("figures.csv")));
  fs::remove(path("page.html"));
}

TEST_F(Report, AFullDiskLeavesNoFigure) {
  const std::string disk = path("disk");
  fs::create_directory(disk);
  if (run("mount -t tmpfs -o size=64k tmpfs " + disk).status != 0) {
    fs::remove(disk);
    GTEST_SKIP() << "a file system of 64 KiB cannot be mounted here: that needs root";
  }
  const auto full = run(TESSERA_FIT " report " + path("model.json") + " --out " + path("page.html") +
                        " --figures " + disk + "/figures");
  EXPECT_TRUE(fs::is_empty(disk));
  EXPECT_EQ(run("umount " + disk).status, 0);
  fs::remove(disk);
  EXPECT_EQ(full.status, 3);
  EXPECT_EQ(count(full.err, "\n"), 1U) << full.err;
  EXPECT_NE(full.err.find("No space left on device"), std::string::npos) << full.err;
  EXPECT_FALSE(fs::exists(path("page.html")));
}

TEST_F(Report, OfAFitThatKeptNoResidualsAndDidNotConvergeSaysSo) {
  fit("exp(y) ~ s(v, bs=\"ps\", k=10)", "other.json", "--family gamma --max-iterations 1 --no-residuals", 4);
  const std::string page = page_of("other.json");
  EXPECT_NE(section(page, "summary").find("not converged"), std::string::npos);
  EXPECT_NE(section(page, "smooths").find("class=\"strip\""), std::string::npos);
  EXPECT_NE(section(page, "residuals").find("--no-residuals"), std::string::npos);
  EXPECT_EQ(section(page, "factors"), "");
  const std::string with = section(page_of("other.json", "--data " + path("data.csv")), "residuals");
  EXPECT_NE(with.find("Deviance residuals of all 400 rows"), std::string::npos);
  EXPECT_EQ(section(page_of("model.json"), "summary").find("not converged"), std::string::npos);
}

/// Expects one line with these words, the status, and every file unchanged.
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
  write("few.csv", "y,v,w,x,z,f\n1,0.5,0.5,0.5,0.5,a\n1,0.4,0.5,0.5,0.5,b\n");
  write("other.csv", "y,v\n1,0.5\n");
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
            "is damaged: plan.rank_ranges[1][1]: is 400, not a whole number from 200 to 399"},
           {path("other_model.json") + out + " --run-report " + path("run.json"), 3,
            "run.json: the run report does not belong to the model "},
           {model + " --out " + path("no/page.html"), 3, "no/page.html"},
           {model + " --out " + model, 2, "--out"},
           {model + " --run-report " + path("run.json") + " --out " + path("./run.json"), 2, "--out"},
           {model + " --data " + path("data.csv") + " --out " + path("data.csv"), 2, "--out"},
           {"", 2, "MODEL"},
       }) {
    SCOPED_TRACE(refused.arguments);
    expect_refusal(run(TESSERA_FIT " report " + refused.arguments), refused.status, refused.words);
    EXPECT_EQ(read("page.html"), "an older page");
    EXPECT_EQ(read("run.json"), ran);
    EXPECT_EQ(count_files(), files);
  }
  // These errors follow lines of progress.
  for (const auto& [table, words] : std::vector<std::pair<const char*, const char*>>{
           {"no.csv", "no.csv"},
           {"few.csv", "the table has 2 complete rows, but the fit used 400"},
           {"other.csv", "'f'"}}) {
    const auto refused = run(TESSERA_FIT " report " + model + out + " --data " + path(table));
    EXPECT_EQ(refused.status, 3) << refused.err;
    EXPECT_NE(refused.err.find(words, refused.err.find("\ntessera-fit: ")), std::string::npos) << refused.err;
    EXPECT_EQ(read("page.html"), "an older page");
    EXPECT_EQ(count_files(), files);
  }
  fs::remove(path("page.html"));
}

}  // namespace
}  // namespace tessera
