// SPDX-License-Identifier: Apache-2.0
#include "support/reference_case.hpp"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

std::string read_gzip(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) throw std::runtime_error("cannot open " + path);
  std::string text;
  char part[65536];
  for (int got = 0; (got = gzread(file.get(), part, sizeof part)) > 0;) {
    text.append(part, static_cast<std::size_t>(got));
  }
  return text;
}

/// Columns of a comma-separated text whose quoted fields hold neither a comma nor a quote.
void read_columns(const std::string& text, ReferenceCase& into) {
  std::istringstream lines(text);
  std::string line;
  std::string field;
  std::vector<std::string> names;
  for (bool header = true; std::getline(lines, line); header = false) {
    std::istringstream fields(line);
    for (std::size_t column = 0; std::getline(fields, field, ','); ++column) {
      if (header) {
        names.push_back(field);
      } else if (field.starts_with('"')) {
        into.texts[names.at(column)].push_back(field.substr(1, field.size() - 2));
      } else {
        into.numbers[names.at(column)].push_back(std::stod(field));
      }
    }
  }
}

}  // namespace

ReferenceCase load_reference_case(const std::string& name) {
  const std::string folder = std::string(TESSERA_TEST_DATA) + "/reference/" + name;
  ReferenceCase fitted;
  read_columns(read_gzip(folder + "/fitted.csv.gz"), fitted);
  ReferenceCase out;
  std::ifstream file(folder + "/ref.json");
  const nlohmann::json described = nlohmann::json::parse(file);
  out.data_path = folder + "/" + described.at("data_file").get<std::string>();
  out.formula = described.at("formula");
  out.family = described.at("family");
  if (out.family.starts_with('@')) out.family.insert(1, folder + "/");
  const auto text = [&](const char* name) {
    const auto found = described.find(name);
    return found != described.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  out.weights = text("weights");
  out.offset = text("offset");
  out.subset = text("subset");
  if (const auto ordered = described.find("ordered"); ordered != described.end() && ordered->is_object())
    out.ordered = ordered->get<decltype(out.ordered)>();
  out.select = described.value("select", false);
  out.gamma = described.value("gamma", 1.0);
  if (const auto sp = described.find("sp"); sp != described.end() && sp->is_array())
    out.sp = sp->get<std::vector<double>>();
  if (const auto least = described.find("min_sp"); least != described.end() && least->is_array())
    out.min_sp = least->get<std::vector<double>>();
  if (const auto penalties = described.find("para_pen");
      penalties != described.end() && penalties->is_object())
    out.para_pen = penalties->dump();
  if (const auto& knots = described.at("supplied_knots"); knots.is_object()) out.knots = knots;
  read_columns(read_gzip(out.data_path), out);
  out.fitted = fitted.numbers.at("fitted");
  out.linear_predictor = fitted.numbers.at("linpred");
  const nlohmann::json& fits = described.at("fits");
  out.reference = fits.at("bam_fREML_tight");
  if (fits.contains("gam_REML_tight")) out.gam_score = fits.at("gam_REML_tight").at("reml_score");
  return out;
}

double relative_to_range(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double difference = std::abs(a.at(i) - b[i]);
    if (!(difference <= worst)) worst = std::isnan(difference) ? INFINITY : difference;
  }
  const auto [low, high] = std::minmax_element(b.begin(), b.end());
  return worst / (*high - *low);
}

}  // namespace TESSERA_NAMESPACE::gam::testing
