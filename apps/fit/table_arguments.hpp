// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/table_options.hpp>

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace TESSERA_NAMESPACE::gam {

/// The options of the command line that say how the fields of a table are read.
struct TableArguments {
  std::string missing = "NA";
  std::vector<std::string> factors;
  std::vector<std::string> numbers;

  /// `with_types`: those about the types of columns too, which a prediction knows from its model.
  void add_to(CLI::App& command, bool with_types);
  [[nodiscard]] TableOptions options() const;
};

}  // namespace TESSERA_NAMESPACE::gam
