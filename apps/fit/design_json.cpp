// SPDX-License-Identifier: Apache-2.0
#include "design_json.hpp"

#include <tessera/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tessera::fit {
namespace {

using Json = nlohmann::json;

[[noreturn]] void damaged(const std::string& what) {
  throw Error(ErrorCode::input, fmt::format("the model file is damaged: {}: fit the model again", what));
}

void require(bool holds, const char* what) {
  if (!holds) damaged(what);
}

/// Selections, foldings and band matrices are mostly zero: those are written as (row, column, value).
Json matrix_json(const Matrix& matrix) {
  Json json{{"rows", matrix.rows()}, {"cols", matrix.cols()}};
  const auto values = matrix.values();
  const auto zeros = std::count(values.begin(), values.end(), 0.0);
  if (3 * (static_cast<std::ptrdiff_t>(values.size()) - zeros) >=
      static_cast<std::ptrdiff_t>(values.size())) {
    json["values"] = std::vector<double>(values.begin(), values.end());
    return json;
  }
  Json entries = Json::array();
  for (int j = 0; j < matrix.cols(); ++j) {
    for (int i = 0; i < matrix.rows(); ++i) {
      if (matrix(i, j) != 0) entries.push_back({i, j, matrix(i, j)});
    }
  }
  json["entries"] = std::move(entries);
  return json;
}

Matrix matrix_from(const Json& json) {
  const int rows = json.at("rows").get<int>();
  const int cols = json.at("cols").get<int>();
  require(rows >= 0 && cols >= 0, "a matrix of negative size");
  Matrix matrix(rows, cols);
  if (json.contains("values")) {
    const auto values = json.at("values").get<std::vector<double>>();
    require(values.size() == matrix.values().size(), "a matrix with too few or too many values");
    std::copy(values.begin(), values.end(), matrix.values().begin());
    return matrix;
  }
  for (const Json& entry : json.at("entries")) {
    const int i = entry.at(0).get<int>();
    const int j = entry.at(1).get<int>();
    require(i >= 0 && i < rows && j >= 0 && j < cols, "a matrix entry out of place");
    matrix(i, j) = entry.at(2).get<double>();
  }
  return matrix;
}

/// Equal cells, as equally spaced B-splines have them, are written once.
Json margin_json(const Margin& margin) {
  Json json{{"breaks", margin.breaks},
            {"uniform", margin.uniform},
            {"cyclic", margin.cyclic},
            {"stride", margin.stride}};
  const bool same = std::all_of(margin.cells.begin(), margin.cells.end(),
                                [&](const auto& cell) { return cell == margin.cells.front(); });
  if (same) {
    json["cell"] = margin.cells.front();
  } else {
    json["cells"] = margin.cells;
  }
  return json;
}

Margin margin_from(const Json& json) {
  Margin margin;
  margin.breaks = json.at("breaks").get<std::vector<double>>();
  margin.uniform = json.at("uniform").get<bool>();
  margin.cyclic = json.at("cyclic").get<bool>();
  margin.stride = json.at("stride").get<int>();
  require(margin.breaks.size() >= 2 && std::is_sorted(margin.breaks.begin(), margin.breaks.end()),
          "breaks of a spline that do not increase");
  require(margin.stride >= 1 && margin.stride <= 4, "a spline with an impossible stride");
  if (json.contains("cell")) {
    margin.cells.assign(margin.breaks.size() - 1, json.at("cell").get<std::array<double, 16>>());
  } else {
    margin.cells = json.at("cells").get<std::vector<std::array<double, 16>>>();
  }
  require(margin.cells.size() + 1 == margin.breaks.size(), "a spline with too few or too many cells");
  return margin;
}

Json penalty_json(const Penalty& penalty) {
  Json matrices = Json::array();
  for (const Matrix& matrix : penalty.matrices) matrices.push_back(matrix_json(matrix));
  Json json{{"matrices", std::move(matrices)}, {"labels", penalty.labels}};
  if (penalty.commutes()) {
    json["eigenvalues"] = matrix_json(penalty.eigenvalues);
    json["log_det_constant"] = penalty.log_det_constant;
  } else {
    json["set_ranks"] = penalty.set_ranks;
  }
  return json;
}

Penalty penalty_from(const Json& json) {
  Penalty penalty;
  for (const Json& matrix : json.at("matrices")) penalty.matrices.push_back(matrix_from(matrix));
  if (json.contains("set_ranks")) {
    penalty.set_ranks = json.at("set_ranks").get<std::vector<int>>();
    require(penalty.set_ranks.size() == std::size_t{1} << penalty.matrices.size(),
            "a penalty with too few or too many ranks");
  } else {
    penalty.eigenvalues = matrix_from(json.at("eigenvalues"));
    penalty.log_det_constant = json.at("log_det_constant").get<double>();
  }
  penalty.labels = json.at("labels").get<std::vector<std::string>>();
  return penalty;
}

Json block_json(const CoefBlock& block) {
  Json json{{"label", block.label},          {"kind", block.kind},
            {"names", block.names},          {"raw_begin", block.raw_begin},
            {"map", matrix_json(block.map)}, {"knots", block.knots},
            {"s_scale", block.s_scale},      {"variables", block.variables},
            {"by_level", block.by_level}};
  if (block.penalty) json["penalty"] = penalty_json(*block.penalty);
  if (block.determined > 0) json["determined"] = block.determined;
  return json;
}

CoefBlock block_from(const Json& json) {
  CoefBlock block;
  block.label = json.at("label").get<std::string>();
  block.kind = json.at("kind").get<std::string>();
  block.names = json.at("names").get<std::vector<std::string>>();
  block.raw_begin = json.at("raw_begin").get<int>();
  block.map = matrix_from(json.at("map"));
  block.raw_size = block.map.rows();
  block.coef_size = block.map.cols();
  block.knots = json.at("knots").get<std::vector<std::vector<double>>>();
  block.s_scale = json.at("s_scale").get<std::vector<double>>();
  block.variables = json.at("variables").get<std::vector<std::string>>();
  block.by_level = json.at("by_level").get<std::string>();
  block.determined = json.value("determined", 0);
  if (json.contains("penalty")) block.penalty = penalty_from(json.at("penalty"));
  require(static_cast<int>(block.names.size()) == block.coef_size, "a term with too few or too many names");
  return block;
}

Json component_json(const Component& component, const Design& design) {
  Json json{{"variable", design.variables[static_cast<std::size_t>(component.variable)].name}};
  if (component.kind == Component::Kind::spline) json["margin"] = margin_json(component.margin);
  return json;
}

/// A component is a spline if it has a margin, else what its variable is.
Component component_from(const Json& json, const Design& design) {
  const std::string name = json.at("variable").get<std::string>();
  const auto found = std::find_if(design.variables.begin(), design.variables.end(),
                                  [&](const DesignVariable& variable) { return variable.name == name; });
  if (found == design.variables.end()) damaged(fmt::format("'{}' is not among its variables", name));
  Component component;
  component.variable = static_cast<int>(found - design.variables.begin());
  if (json.contains("margin")) {
    require(!found->factor, "a spline of a factor");
    component.kind = Component::Kind::spline;
    component.margin = margin_from(json.at("margin"));
  } else if (found->factor) {
    component.kind = Component::Kind::factor;
    component.levels = static_cast<int>(found->levels.size());
  }
  return component;
}

Design parse(const Json& json) {
  Design design;
  for (const Json& variable : json.at("variables")) {
    const bool factor = variable.contains("levels");
    design.variables.push_back(
        {variable.at("name").get<std::string>(), factor,
         factor ? variable.at("levels").get<std::vector<std::string>>() : std::vector<std::string>{}});
  }
  for (const Json& term : json.at("terms")) {
    std::vector<Component> components;
    for (const Json& component : term) components.push_back(component_from(component, design));
    design.add_term(std::move(components));
  }
  for (const Json& value : json.at("blocks")) {
    CoefBlock block = block_from(value);
    require(block.raw_begin >= 0 && block.raw_begin <= design.raw_size - block.raw_size,
            "a term beyond the raw columns");
    block.coef_begin = design.coef_size;
    design.coef_size += block.coef_size;
    design.blocks.push_back(std::move(block));
  }
  design.left_out = json.value("left_out", std::vector<std::string>{});
  return design;
}

}  // namespace

Json to_json(const Design& design) {
  std::vector<bool> used(design.variables.size());
  Json terms = Json::array();
  for (const RawTerm& term : design.terms) {
    Json components = Json::array();
    for (const Component& component : term.components) {
      used[static_cast<std::size_t>(component.variable)] = true;
      components.push_back(component_json(component, design));
    }
    terms.push_back(std::move(components));
  }
  Json variables = Json::array();
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    Json variable{{"name", design.variables[i].name}};
    if (design.variables[i].factor) variable["levels"] = design.variables[i].levels;
    variables.push_back(std::move(variable));
  }
  Json blocks = Json::array();
  for (const CoefBlock& block : design.blocks) blocks.push_back(block_json(block));
  Json json{{"variables", std::move(variables)}, {"terms", std::move(terms)}, {"blocks", std::move(blocks)}};
  if (!design.left_out.empty()) json["left_out"] = design.left_out;
  return json;
}

Design design_from_json(const Json& json) {
  try {
    return parse(json);
  } catch (const Json::exception& fault) {
    damaged(fault.what());
  }
}

}  // namespace tessera::fit
