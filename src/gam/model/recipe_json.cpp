// SPDX-License-Identifier: Apache-2.0
#include "gam/model/recipe_json.hpp"

#include "gam/formula/compile.hpp"

#include <tessera/error.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

using Json = nlohmann::ordered_json;
using files::JsonField;

constexpr std::array<std::pair<const char*, ValueType::Kind>, 3> kinds{{{"number", ValueType::Kind::number},
                                                                        {"logical", ValueType::Kind::logical},
                                                                        {"factor", ValueType::Kind::factor}}};

ValueType type_from(const JsonField& field) {
  const JsonField kind = field.at("kind");
  for (const auto& [name, value] : kinds) {
    if (kind.text() != name) continue;
    ValueType type{.kind = value};
    if (value == ValueType::Kind::number) return type;
    type.levels = field.at("levels").texts();
    if (const auto ordered = field.find("ordered")) type.ordered = ordered->truth();
    return type;
  }
  kind.refuse("must be number, logical or factor");
}

Expression contrast_from(const JsonField& field) {
  const JsonField source = field.at("source");
  try {
    Expression expression = expression_from(parse_syntax(source.text()));
    if (!expression.computed()) source.refuse("must be an expression of columns");
    expression.text = field.at("name").text();
    return expression;
  } catch (const Error& fault) {
    if (fault.code() != ErrorCode::usage) throw;
    source.refuse(fault.what());
  }
}

}  // namespace

Json to_json(const Recipe& recipe) {
  Json columns = Json::array();
  for (const Recipe::Column& column : recipe.columns) {
    Json one{{"name", column.name}};
    for (const auto& [name, kind] : kinds) {
      if (kind == column.type.kind) one["kind"] = name;
    }
    if (column.type.kind != ValueType::Kind::number) one["levels"] = column.type.levels;
    if (column.type.ordered) one["ordered"] = true;
    columns.push_back(std::move(one));
  }
  Json measured = Json::array();
  for (const auto& [call, values] : recipe.measured) measured.push_back({{"call", call}, {"values", values}});
  Json contrasts = Json::array();
  for (const Expression& one : recipe.contrasts)
    contrasts.push_back({{"name", one.text}, {"source", one.source}});
  return {{"columns", std::move(columns)},
          {"measured", std::move(measured)},
          {"contrasts", std::move(contrasts)}};
}

Recipe recipe_from_json(const JsonField& field) {
  Recipe recipe;
  for (const JsonField& column : field.at("columns").elements())
    recipe.columns.push_back({column.at("name").text(), type_from(column)});
  for (const JsonField& one : field.at("measured").elements())
    recipe.measured.emplace_back(one.at("call").text(), one.at("values").numbers());
  for (const JsonField& one : field.at("contrasts").elements())
    recipe.contrasts.push_back(contrast_from(one));
  return recipe;
}

}  // namespace TESSERA_NAMESPACE::gam
