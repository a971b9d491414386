// SPDX-License-Identifier: Apache-2.0
#include "gam/formula/call_arguments.hpp"

#include "gam/formula/constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/list_text.hpp"

namespace TESSERA_NAMESPACE::gam {

std::string level_of(double number) {
  return fmt::format("{}", number + 0.0);
}

CallArguments::CallArguments(const Syntax& call, std::initializer_list<std::string_view> formals)
    : call_(call), formals_(formals) {
  given_.resize(formals_.size());
  for (std::size_t i = 0; i < call.children.size(); ++i) {
    if (call.argument_names[i].empty()) continue;
    const Syntax*& given = given_[place_of(call.argument_names[i], call.children[i])];
    if (given != nullptr)
      formula_error(call.children[i].position, "{}() has the argument '{}' twice: give it once", call.text,
                    call.argument_names[i]);
    given = &call.children[i];
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < call.children.size(); ++i) {
    if (!call.argument_names[i].empty()) continue;
    while (next < given_.size() && given_[next] != nullptr) ++next;
    if (next == given_.size())
      formula_error(call.children[i].position, "{}() has too many arguments: it takes {}", call.text,
                    base::list_text(names(), "and"));
    given_[next] = &call.children[i];
  }
  if (given_[0] == nullptr) formula_error(call.position, "{}() has no argument: give one", call.text);
}

const Syntax* CallArguments::find(std::string_view name) const {
  const auto at = std::ranges::find(formals_, name) - formals_.begin();
  const Syntax* value = given_[static_cast<std::size_t>(at)];
  return value == nullptr || value->is_constant("NULL") ? nullptr : value;
}

std::optional<std::vector<double>> CallArguments::numbers(std::string_view name) const {
  const Syntax* value = find(name);
  if (value == nullptr) return std::nullopt;
  auto found = constant_numbers(*value);
  if (!found || found->empty()) refuse(*value, name, "numbers without variables");
  return found;
}

std::optional<std::vector<std::string>> CallArguments::texts(std::string_view name) const {
  const Syntax* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (auto found = constant_texts(*value)) return found;
  if (const auto found = constant_numbers(*value)) {
    std::vector<std::string> out;
    for (const double number : *found) out.push_back(level_of(number));
    return out;
  }
  refuse(*value, name, "texts in quotes");
}

bool CallArguments::truth(std::string_view name, bool otherwise) const {
  const Syntax* value = find(name);
  if (value == nullptr) return otherwise;
  const auto found = constant_truth(*value);
  if (!found) refuse(*value, name, "TRUE or FALSE");
  return *found;
}

int CallArguments::whole(std::string_view name, int otherwise, int least, int most) const {
  const auto found = numbers(name);
  if (!found) return otherwise;
  const double value = found->front();
  if (found->size() != 1 || !(value >= least && value <= most) || value != std::floor(value))
    refuse(*find(name), name, fmt::format("a whole number from {} to {}", least, most));
  return static_cast<int>(value);
}

void CallArguments::refuse(const Syntax& value, std::string_view name, std::string_view expected) const {
  formula_error(value.position, "{}(): {} is {}: give {}", call_.text, name, deparse(value), expected);
}

std::size_t CallArguments::place_of(const std::string& name, const Syntax& value) const {
  const auto exact = std::ranges::find(formals_, name);
  if (exact != formals_.end()) return static_cast<std::size_t>(exact - formals_.begin());
  const auto begins = [&](std::string_view formal) { return formal.starts_with(name); };
  if (std::ranges::count_if(formals_, begins) != 1)
    formula_error(value.position, "{}() has no argument '{}'; it has {}", call_.text, name,
                  base::list_text(names(), "and"));
  return static_cast<std::size_t>(std::ranges::find_if(formals_, begins) - formals_.begin());
}

}  // namespace TESSERA_NAMESPACE::gam
