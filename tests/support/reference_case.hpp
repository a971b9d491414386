// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {

/// One folder of tests/data/reference: the data, and the fit of mgcv's bam.
struct ReferenceCase {  // NOLINT(bugprone-exception-escape): moves of nlohmann::json do not throw
  std::string data_path;
  std::string formula;
  std::string family;
  std::string weights;  ///< an expression; empty: none
  std::string offset;   ///< an expression; empty: none
  std::string subset;   ///< an expression; empty: none
  std::map<std::string, std::vector<std::string>> ordered;
  std::map<std::string, std::vector<double>> knots;  ///< user-supplied
  bool select = false;
  double gamma = 1;
  std::vector<double> sp;
  std::string para_pen;                                   ///< JSON; empty: none
  std::vector<double> min_sp;                             ///< lower bounds of `sp`; empty: none
  std::map<std::string, std::vector<double>> numbers;     ///< unquoted columns of the table
  std::map<std::string, std::vector<std::string>> texts;  ///< quoted columns of the table
  std::vector<double> fitted;
  std::vector<double> linear_predictor;
  nlohmann::json reference;  ///< fits.bam_fREML_tight of ref.json
  double gam_score = 0;      ///< REML of fits.gam_REML_tight; equals fREML for gaussian
};

[[nodiscard]] ReferenceCase load_reference_case(const std::string& name);

/// max|a - b| / range(b); infinite if `a` has a NaN.
[[nodiscard]] double relative_to_range(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace TESSERA_NAMESPACE::gam::testing
