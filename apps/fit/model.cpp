// SPDX-License-Identifier: Apache-2.0
#include "model.hpp"

#include "design_json.hpp"
#include "output.hpp"
#include "output_file.hpp"
#include "submatrix.hpp"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <tessera/error.hpp>
#include <tessera/version.hpp>

namespace tessera::fit {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* format_name = "tessera-fit model";
constexpr int format_version = 2;

constexpr const char* covariance_suffix = ".cov";

static_assert(std::endian::native == std::endian::little, "the covariance file is little-endian");

Json terms_json(const Model& model) {
  Json terms = Json::array();
  std::size_t penalty = 0;
  std::size_t smooth = 0;
  for (const CoefBlock& block : model.design.blocks) {
    Json term{{"label", block.label},
              {"kind", block.kind},
              {"coefficients", block.coef_size},
              {"edf", model.block_edf(block)}};
    if (block.penalty) {
      Json sp = Json::array();
      Json log_sp = Json::array();
      for (std::size_t j = 0; j < block.penalty->matrices.size(); ++j, ++penalty) {
        log_sp.push_back(model.log_sp[penalty]);
        sp.push_back(std::exp(model.log_sp[penalty]));
      }
      term["sp"] = sp;
      term["log_sp"] = log_sp;
      term["knots"] = block.knots;
      if (smooth < model.smooth_tests.size()) {
        const SmoothTest& test = model.smooth_tests[smooth++];
        term["ref_df"] = test.reference_df;
        term["statistic"] = test.statistic;
        term["p_value"] = test.p_value;
      }
    }
    terms.push_back(std::move(term));
  }
  return terms;
}

Json outline_json(const DataOutline& outline) {
  Json variables = Json::array();
  for (const VariableOutline& variable : outline.variables) {
    variables.push_back(
        {{"name", variable.name}, {"min", variable.min}, {"max", variable.max}, {"counts", variable.counts}});
  }
  return {{"variables", std::move(variables)},
          {"linear_predictor", outline.linear_predictor},
          {"deviance_residual", outline.deviance_residual}};
}

Json columns_json(const Matrix& matrix) {
  Json columns = Json::array();
  for (int j = 0; j < matrix.cols(); ++j)
    columns.push_back(std::vector<double>(matrix.column(j).begin(), matrix.column(j).end()));
  return columns;
}

/// The columns of the covariance are with the covariance itself.
Json centring_json(const Model& model) {
  Json components = Json::array();
  for (const Centring::CentredComponent& one : model.centring.components) {
    Json parts = Json::array();
    for (const NumericPart& part : one.parts) {
      parts.push_back({{"variable", model.design.variables[static_cast<std::size_t>(part.variable)].name},
                       {"centre", part.centre},
                       {"factor", part.factor}});
    }
    components.push_back({{"term", one.term}, {"component", one.component}, {"parts", std::move(parts)}});
  }
  return {{"components", std::move(components)},
          {"coefficients", model.centring.coefficients},
          {"values", model.centring.values}};
}

Json to_json(const Model& model) {
  Json json{{"format", format_name},
            {"version", format_version},
            {"tessera", tessera::version},
            {"formula", model.formula},
            {"family", model.family.name()},
            {"link", model.family.link_text()},
            {"family_toml", model.family.custom ? Json(to_toml(*model.family.custom)) : Json()},
            {"weights", model.weights.empty() ? Json() : Json(model.weights)},
            {"n", model.rows},
            {"rows_dropped", model.rows_dropped}};
  // In the order of the design: two may have one name, as factor q at level 1 and a column q1.
  Json coefficients = Json::array();
  const auto names = model.design.coef_names();
  for (std::size_t i = 0; i < names.size(); ++i)
    coefficients.push_back({{"name", names[i]}, {"value", model.coef[i]}});
  json["coefficients"] = std::move(coefficients);
  json["terms"] = terms_json(model);
  json["scale"] = model.scale;
  json["deviance"] = model.deviance;
  json["null_deviance"] = model.null_deviance;
  json["r_squared_adjusted"] = model.r_squared_adjusted;
  json["reml"] = model.reml;
  json["edf_total"] = model.edf_total;
  json["aic"] = model.aic;
  json["iterations"] = model.iterations;
  json["converged"] = model.converged;
  if (!model.no_estimate.empty()) json["no_estimate"] = model.no_estimate;
  json["verdict"] = model.verdict;
  Json tests = Json::array();
  for (const CoefficientTest& test : model.coefficient_tests) {
    tests.push_back({{"name", test.name},
                     {"estimate", test.estimate},
                     {"standard_error", test.standard_error},
                     {"statistic", test.statistic},
                     {"p_value", test.p_value}});
  }
  json["parametric"] = std::move(tests);
  json["edf"] = model.edf;
  json["outline"] = outline_json(model.outline);
  json["design"] = Json(to_json(model.design));
  if (!model.centring.components.empty()) json["centring"] = centring_json(model);
  return json;
}

/// JSON has no infinities and no NaN: they are written as null.
double number(const Json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

std::vector<double> numbers(const Json& values) {
  std::vector<double> out;
  out.reserve(values.size());
  for (const Json& value : values) out.push_back(number(value));
  return out;
}

DataOutline outline_from(const Json& json) {
  DataOutline outline;
  for (const Json& variable : json.at("variables")) {
    outline.variables.push_back({variable.at("name").get<std::string>(), number(variable.at("min")),
                                 number(variable.at("max")),
                                 variable.at("counts").get<std::vector<std::int64_t>>()});
  }
  outline.linear_predictor = numbers(json.at("linear_predictor"));
  outline.deviance_residual = numbers(json.at("deviance_residual"));
  return outline;
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::input, fmt::format("{}: {}", path, why));
}

/// Ties the file of a covariance to its model, by CRC-32: the one file may be of another fit than the other.
std::string checksum(const void* bytes, std::size_t count) {
  return fmt::format("{:08x}", ::crc32_z(0, static_cast<const Bytef*>(bytes), count));
}

/// The covariance, and the centred columns beside it.
Matrix read_covariance(const std::string& path, int size, int columns, const std::string& expected) {
  const std::string bytes = read_file(path);
  Matrix covariance(size, columns);
  if (bytes.size() != covariance.values().size_bytes()) {
    refuse(path, fmt::format("has {} bytes where a covariance of {} coefficients has {}", bytes.size(), size,
                             covariance.values().size_bytes()));
  }
  if (checksum(bytes.data(), bytes.size()) != expected)
    refuse(path, "is not the covariance of this model: fit the model again");
  std::memcpy(covariance.data(), bytes.data(), bytes.size());
  return covariance;
}

Matrix columns_from(const Json& json, int count, const std::string& path) {
  const auto columns = json.get<std::vector<std::vector<double>>>();
  if (static_cast<int>(columns.size()) != count) refuse(path, "has a covariance of another size");
  if (columns.empty()) return {};
  Matrix out(static_cast<int>(columns.front().size()), count);
  for (std::size_t j = 0; j < columns.size(); ++j) {
    if (columns[j].size() != columns.front().size()) refuse(path, "has a covariance of another size");
    std::copy(columns[j].begin(), columns[j].end(), out.column(static_cast<int>(j)).begin());
  }
  return out;
}

Centring centring_from(const Json& json, const Design& design, const std::string& path) {
  Centring centring;
  const auto inside = [&](int place, std::size_t size) {
    if (place < 0 || static_cast<std::size_t>(place) >= size) refuse(path, "centres what it does not have");
    return static_cast<std::size_t>(place);
  };
  for (const Json& one : json.at("components")) {
    Centring::CentredComponent component{one.at("term").get<int>(), one.at("component").get<int>(), {}};
    inside(component.component, design.terms[inside(component.term, design.terms.size())].components.size());
    for (const Json& part : one.at("parts")) {
      const auto name = part.at("variable").get<std::string>();
      const auto found = std::find_if(design.variables.begin(), design.variables.end(),
                                      [&](const DesignVariable& variable) { return variable.name == name; });
      const auto place = static_cast<int>(found - design.variables.begin());
      inside(place, design.variables.size());
      component.parts.push_back({place, part.at("centre").get<double>(), part.at("factor").get<double>()});
    }
    centring.components.push_back(std::move(component));
  }
  centring.coefficients = json.at("coefficients").get<std::vector<int>>();
  for (const int place : centring.coefficients) inside(place, static_cast<std::size_t>(design.coef_size));
  centring.values = json.at("values").get<std::vector<double>>();
  if (centring.values.size() != centring.coefficients.size())
    refuse(path, "has another number of centred coefficients than of their values");
  return centring;
}

Model from_json(const Json& json, const std::string& path) {
  Model model;
  model.formula = json.at("formula").get<std::string>();
  if (const Json own = json.value("family_toml", Json()); !own.is_null()) {
    model.family = AnyFamily(parse_custom_family(own.get<std::string>(), path + ": family_toml"));
  } else {
    const auto family = parse_family(json.at("family").get<std::string>());
    if (!family) refuse(path, "names a family that this version does not know");
    model.family = *family;
  }
  if (!json.at("weights").is_null()) model.weights = json.at("weights").get<std::string>();
  model.rows = json.at("n").get<std::int64_t>();
  model.rows_dropped = json.at("rows_dropped").get<std::int64_t>();
  model.design = design_from_json(nlohmann::json(json.at("design")));
  for (const Json& coefficient : json.at("coefficients"))
    model.coef.push_back(coefficient.at("value").get<double>());
  if (model.coef.size() != static_cast<std::size_t>(model.design.coef_size)) {
    refuse(path, "has another number of coefficients than its terms");
  }
  for (const Json& term : json.at("terms")) {
    if (!term.contains("log_sp")) continue;
    for (const Json& value : term.at("log_sp")) model.log_sp.push_back(value.get<double>());
    model.smooth_tests.push_back({term.at("label").get<std::string>(), number(term.at("edf")),
                                  number(term.at("ref_df")), number(term.at("statistic")),
                                  number(term.at("p_value"))});
  }
  model.scale = number(json.at("scale"));
  model.deviance = number(json.at("deviance"));
  model.null_deviance = number(json.at("null_deviance"));
  model.r_squared_adjusted = number(json.at("r_squared_adjusted"));
  model.reml = number(json.at("reml"));
  model.edf_total = number(json.at("edf_total"));
  model.aic = number(json.at("aic"));
  model.iterations = json.at("iterations").get<int>();
  model.converged = json.at("converged").get<bool>();
  model.no_estimate = json.value("no_estimate", std::string());
  model.verdict = json.at("verdict").get<std::string>();
  for (const Json& test : json.at("parametric")) {
    model.coefficient_tests.push_back({test.at("name").get<std::string>(), number(test.at("estimate")),
                                       number(test.at("standard_error")), number(test.at("statistic")),
                                       number(test.at("p_value"))});
  }
  model.edf = json.at("edf").get<std::vector<double>>();
  if (json.contains("outline")) model.outline = outline_from(json.at("outline"));
  if (model.outline.linear_predictor.size() != model.outline.deviance_residual.size()) {
    refuse(path, "has another number of linear predictors than of residuals");
  }
  if (json.contains("centring")) model.centring = centring_from(json.at("centring"), model.design, path);
  const auto centred = static_cast<int>(model.centring.coefficients.size());
  const Json& covariance = json.at("covariance");
  if (covariance.contains("suffix")) {
    const std::filesystem::path itself = std::filesystem::canonical(path);  // and no link to it
    const int size = model.design.coef_size;
    const Matrix columns = read_covariance(covariance_path(itself.string()), size, size + centred,
                                           covariance.at("crc32").get<std::string>());
    model.covariance = submatrix(columns, 0, size, 0, size);
    model.centring.covariance = submatrix(columns, 0, size, size, centred);
  } else {
    model.covariance = columns_from(covariance.at("columns"), model.design.coef_size, path);
    if (centred > 0)
      model.centring.covariance = columns_from(covariance.at("centred_columns"), centred, path);
    if (model.centring.covariance.rows() != (centred > 0 ? model.covariance.rows() : 0))
      refuse(path, "has a covariance of another size");
  }
  return model;
}

}  // namespace

PredictiveModel Model::predictive() const {
  PredictiveModel out{design, coef, covariance};
  for (const Centring::CentredComponent& one : centring.components) {
    out.design.terms[static_cast<std::size_t>(one.term)]
        .components[static_cast<std::size_t>(one.component)]
        .parts = one.parts;
  }
  for (std::size_t k = 0; k < centring.coefficients.size(); ++k) {
    const int place = centring.coefficients[k];
    out.coef[static_cast<std::size_t>(place)] = centring.values[k];
    if (covariance.empty()) continue;
    const auto column = centring.covariance.column(static_cast<int>(k));
    for (int i = 0; i < covariance.rows(); ++i)
      out.covariance(i, place) = out.covariance(place, i) = column[static_cast<std::size_t>(i)];
  }
  return out;
}

double Model::block_edf(const CoefBlock& block) const {
  double sum = 0;
  for (int i = 0; i < block.coef_size; ++i) sum += edf[static_cast<std::size_t>(block.coef_begin + i)];
  return sum;
}

std::string covariance_path(const std::string& path) {
  return path + covariance_suffix;
}

void save_model(const Model& model, const std::string& path, int inline_limit) {
  Json json = to_json(model);
  const Matrix& covariance = model.covariance;
  const Matrix& centred = model.centring.covariance;
  OutputFile file(path);
  std::optional<OutputFile> beside;
  if (covariance.rows() > inline_limit) {
    Matrix columns(covariance.rows(), covariance.cols() + centred.cols());
    std::copy(covariance.values().begin(), covariance.values().end(), columns.values().begin());
    std::copy(centred.values().begin(), centred.values().end(),
              columns.values().begin() + std::ssize(covariance.values()));
    beside.emplace(covariance_path(path)).write(columns.values());
    json["covariance"] = {{"suffix", covariance_suffix},
                          {"rows", covariance.rows()},
                          {"layout", "little-endian float64, column by column"},
                          {"crc32", checksum(columns.data(), columns.values().size_bytes())}};
  } else {
    json["covariance"] = {{"rows", covariance.rows()}, {"columns", columns_json(covariance)}};
    if (!centred.empty()) json["covariance"]["centred_columns"] = columns_json(centred);
  }
  // Names and levels are UTF-8 from the reading on; a host name in the verdict need not be.
  file.write(json.dump(1, ' ', false, Json::error_handler_t::replace));
  file.write("\n");
  // A disk that is full leaves the model that was there, and its covariance.
  if (beside) beside->flush();
  file.flush();
  if (beside) beside->commit();
  file.commit();
}

Model load_model(const std::string& path) {
  const std::string text = read_file(path);
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object() || json.value("format", "") != format_name) {
    refuse(path, "is not a model that tessera-fit wrote");
  }
  const int version = json.value("version", 0);
  if (version > format_version) refuse(path, "was written by a newer tessera-fit");
  if (version < format_version) refuse(path, "was written by an older tessera-fit: fit the model again");
  try {
    return from_json(json, path);
  } catch (const nlohmann::json::exception& fault) {
    refuse(path, fmt::format("is damaged: {}", fault.what()));
  }
}

}  // namespace tessera::fit
