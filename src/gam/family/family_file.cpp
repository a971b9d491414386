// SPDX-License-Identifier: Apache-2.0
#include "gam/family/family_file.hpp"

#include "base/errors.hpp"
#include "base/list_text.hpp"

#include <tessera/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// The position after the quoted string that begins at `at`, or the end of the text.
std::size_t behind_text(std::string_view toml, std::size_t at) {
  const char quote = toml[at];
  const std::string thrice(3, quote);
  const bool long_text = toml.substr(at).starts_with(thrice);
  for (std::size_t i = at + (long_text ? 3 : 1); i < toml.size(); ++i) {
    if (quote == '"' && toml[i] == '\\') {
      ++i;
    } else if (long_text ? toml.substr(i).starts_with(thrice) : toml[i] == quote || toml[i] == '\n') {
      return i + (long_text ? 3 : 1);
    }
  }
  return toml.size();
}

/// Rejects keys with many dots: the destructor of toml++'s nested tables overflows the stack.
void check_dotted_keys(std::string_view toml, const std::string& origin) {
  constexpr int max_dots = 32;
  int line = 1;
  int dots = 0;
  for (std::size_t i = 0; i < toml.size();) {
    const char c = toml[i];
    if (c == '"' || c == '\'') {
      const std::size_t end = behind_text(toml, i);
      line += static_cast<int>(std::count(toml.begin() + static_cast<std::ptrdiff_t>(i),
                                          toml.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
      i = end;
      continue;
    }
    if (c == '#') {
      i = std::min(toml.find('\n', i), toml.size());
      continue;
    }
    if (c == '\n') ++line;
    if (c == '\n' || c == '=' || c == ',') dots = 0;
    if (c == '.' && ++dots > max_dots)
      throw base::usage_error("{}:{}: a key has more than {} parts between dots: write keys without dots",
                              origin, line, max_dots);
    ++i;
  }
}

}  // namespace

FamilyFile::FamilyFile(std::string_view toml, std::string origin) : origin_(std::move(origin)) {
  check_dotted_keys(toml, origin_);
  try {
    table_ = toml::parse(toml);
  } catch (const toml::parse_error& error) {
    throw base::usage_error("{}:{}: {}", origin_, error.source().begin.line, error.description());
  }
}

void FamilyFile::refuse(const toml::node& where, std::string_view why) const {
  throw base::usage_error("{}:{}: {}", origin_, where.source().begin.line, why);
}

void FamilyFile::require_known(std::span<const char* const> keys) const {
  for (const auto& [key, node] : table_) {
    if (std::find(keys.begin(), keys.end(), key.str()) == keys.end())
      throw base::usage_error("{}:{}: '{}' is not a key of a family: the keys are {}", origin_,
                              key.source().begin.line, key.str(), fmt::join(keys, ", "));
  }
}

const toml::value<std::string>* FamilyFile::text(const char* key) const {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return nullptr;
  if (!node->is_string()) refuse(*node, fmt::format(R"({} must be text: write {} = "…")", key, key));
  return node->as_string();
}

std::string FamilyFile::name() const {
  const auto* name = text("name");
  if (name == nullptr || name->get().empty())
    throw base::usage_error(R"({}: the family has no name: write name = "…")", origin_);
  return name->get();
}

int FamilyFile::number(const char* key, int least, int most) const {
  const toml::node& node = *table_.get(key);
  const auto value = node.value_exact<std::int64_t>();
  if (!value || *value < least || *value > most)
    refuse(node, fmt::format("{} must be a whole number from {} to {}", key, least, most));
  return static_cast<int>(*value);
}

FamilyFunction FamilyFile::function_of(const char* key, const toml::value<std::string>& text,
                                       const std::vector<std::string>& arguments, bool on_devices) const {
  try {
    return {text.get(), arguments, on_devices};
  } catch (const Error& error) {
    refuse(text, fmt::format("{}: {}", key, error.what()));
  }
}

FamilyFunction FamilyFile::function(const char* key, const std::vector<std::string>& arguments) const {
  const auto* own = text(key);
  if (own == nullptr)
    throw base::usage_error(R"({}: {} is missing: write {} = "…", an expression of {})", origin_, key, key,
                            base::list_text(arguments, "and"));
  return function_of(key, *own, arguments);
}

FamilyFunction FamilyFile::condition(const char* key) const {
  const auto* own = text(key);
  return own == nullptr ? FamilyFunction() : function_of(key, *own, {"y"}, false);
}

std::vector<FamilyFunction> FamilyFile::functions(const char* key, std::size_t count,
                                                  const std::vector<std::string>& arguments) const {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return {};
  const toml::array* list = node->as_array();
  if (list == nullptr || list->size() != count || !list->is_homogeneous<std::string>())
    refuse(*node, fmt::format("{} must be a list of {} texts, one for each linear predictor", key, count));
  std::vector<FamilyFunction> all;
  for (const toml::node& one : *list) all.push_back(function_of(key, *one.as_string(), arguments));
  return all;
}

}  // namespace TESSERA_NAMESPACE::gam
