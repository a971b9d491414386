// SPDX-License-Identifier: Apache-2.0
#include "model.hpp"

#include "design_json.hpp"
#include "output.hpp"
#include "output_file.hpp"

#include <fmt/core.h>
#include <zlib.h>

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

Matrix read_covariance(const std::string& path, int size, const std::string& expected) {
  const std::string bytes = read_file(path);
  Matrix covariance(size, size);
  if (bytes.size() != covariance.values().size_bytes()) {
    refuse(path, fmt::format("has {} bytes where a covariance of {} coefficients has {}", bytes.size(), size,
                             covariance.values().size_bytes()));
  }
  if (checksum(bytes.data(), bytes.size()) != expected)
    refuse(path, "is not the covariance of this model: fit the model again");
  std::memcpy(covariance.data(), bytes.data(), bytes.size());
  return covariance;
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
  const Json& covariance = json.at("covariance");
  if (covariance.contains("suffix")) {
    const std::filesystem::path itself = std::filesystem::canonical(path);  // and no link to it
    model.covariance = read_covariance(covariance_path(itself.string()), model.design.coef_size,
                                       covariance.at("crc32").get<std::string>());
  } else {
    model.covariance = Matrix(model.design.coef_size, model.design.coef_size);
    const auto columns = covariance.at("columns").get<std::vector<std::vector<double>>>();
    if (columns.size() != model.coef.size()) refuse(path, "has a covariance of another size");
    for (std::size_t j = 0; j < columns.size(); ++j) {
      if (columns[j].size() != columns.size()) refuse(path, "has a covariance of another size");
      std::copy(columns[j].begin(), columns[j].end(), model.covariance.column(static_cast<int>(j)).begin());
    }
  }
  return model;
}

}  // namespace

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
  OutputFile file(path);
  std::optional<OutputFile> beside;
  if (covariance.rows() > inline_limit) {
    beside.emplace(covariance_path(path)).write(covariance.values());
    json["covariance"] = {{"suffix", covariance_suffix},
                          {"rows", covariance.rows()},
                          {"layout", "little-endian float64, column by column"},
                          {"crc32", checksum(covariance.data(), covariance.values().size_bytes())}};
  } else {
    Json columns = Json::array();
    for (int j = 0; j < covariance.cols(); ++j) {
      columns.push_back(std::vector<double>(covariance.column(j).begin(), covariance.column(j).end()));
    }
    json["covariance"] = {{"rows", covariance.rows()}, {"columns", std::move(columns)}};
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
