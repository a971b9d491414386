// SPDX-License-Identifier: Apache-2.0
#include "gam/curves/named_contrasts.hpp"

#include "files/json_file.hpp"

namespace TESSERA_NAMESPACE::gam {

std::map<std::string, NamedContrasts> named_contrasts(const std::string& text_or_file) {
  const auto file = files::JsonFile::text_or_file(
      text_or_file, "contrasts", "contrasts by the name of their test", "correct the contrasts");
  std::map<std::string, NamedContrasts> tests;
  for (const auto& [name, contrasts] : file.root().members()) {
    for (const files::JsonField& contrast : contrasts.elements()) {
      auto& weights = tests[name].emplace_back();
      for (const auto& [coefficient, weight] : contrast.members()) weights[coefficient] = weight.number();
    }
    if (tests[name].empty()) contrasts.refuse("has no contrast: give a list of weights by coefficient");
  }
  return tests;
}

}  // namespace TESSERA_NAMESPACE::gam
