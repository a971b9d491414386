// SPDX-License-Identifier: Apache-2.0
#include "gam/formula/district_list.hpp"

#include "gam/formula/constants.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// The neighbours of a district: names, or indices of `names` from one.
std::vector<std::string> neighbours_from(const Syntax& value, const std::vector<std::string>& names) {
  if (value.is_constant("NULL") || (value.is_call("c") && value.children.empty())) return {};
  if (auto texts = constant_texts(value)) return *std::move(texts);
  std::vector<std::string> out;
  for (const double index : constant_numbers(value).value_or(std::vector<double>{0})) {
    if (!(index >= 1 && index <= static_cast<double>(names.size())) || index != std::floor(index))
      formula_error(value.position, "xt: nb has {}: give names of districts, or their indices from 1 to {}",
                    deparse(value), names.size());
    out.push_back(names[static_cast<std::size_t>(index) - 1]);
  }
  return out;
}

const Syntax& list_of(const Syntax& value, std::string_view what) {
  const bool named =
      std::ranges::none_of(value.argument_names, [](const std::string& name) { return name.empty(); });
  if (!value.is_call("list") || !named)
    formula_error(value.position,
                  "xt: {} is not a list with the names of the districts: write list(a=…, b=…)", what);
  return value;
}

}  // namespace

void set_districts(BasisOptions& options, const Syntax& xt) {
  if (xt.kind == Syntax::Kind::text) {
    options.districts_file = xt.text;
    return;
  }
  if (!xt.is_call("list") || xt.children.size() != 1 ||
      (xt.argument_names[0] != "nb" && xt.argument_names[0] != "penalty"))
    formula_error(xt.position,
                  "xt: the neighbours or the penalty are missing: write xt=list(nb=…), xt=list(penalty=…), "
                  "or xt=\"FILE\" for a file of neighbours, polygons or a penalty");
  const std::string& what = xt.argument_names[0];
  const Syntax& list = list_of(xt.children[0], what);
  std::vector<DistrictEntry> entries;
  for (std::size_t i = 0; i < list.children.size(); ++i) {
    const Syntax& value = list.children[i];
    DistrictEntry& entry = entries.emplace_back(DistrictEntry{list.argument_names[i], {}});
    if (what == "nb") {
      entry.others = neighbours_from(value, list.argument_names);
      continue;
    }
    entry.others = list_of(value, "a row of the penalty").argument_names;
    for (const Syntax& element : value.children) {
      const auto number = constant_numbers(element);
      if (!number || number->size() != 1 || !std::isfinite(number->front()))
        formula_error(element.position, "xt: an element of the penalty is {}: give a finite number",
                      deparse(element));
      entry.values.push_back(number->front());
    }
  }
  options.districts = districts_of(entries, [&](std::size_t entry, const std::string& fault) {
    formula_error(list.children[entry].position, "xt: {}", fault);
  });
}

}  // namespace TESSERA_NAMESPACE::gam
