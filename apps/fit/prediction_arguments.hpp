// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/predict.hpp>

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace TESSERA_NAMESPACE::gam {

/// The options of the command line that say what is predicted.
struct PredictionArguments {
  std::string type = "link";
  std::vector<std::string> terms;
  std::vector<std::string> exclude;
  std::string new_levels = "mgcv";
  bool standard_errors = false;
  double interval = 0;
  double prediction_interval = 0;
  bool unconditional = false;

  void add_to(CLI::App& command);
  [[nodiscard]] PredictOptions options() const;
  /// Whether the intercept is in no column.
  [[nodiscard]] bool by_terms() const { return type == "terms" || type == "iterms"; }
};

/// Adds --new-levels.
void add_new_levels(CLI::App& command, std::string& policy);

/// The parts of all of these lists.
[[nodiscard]] std::vector<std::string> labels_in(const std::vector<std::string>& lists);

}  // namespace TESSERA_NAMESPACE::gam
