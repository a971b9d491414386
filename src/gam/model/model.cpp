// SPDX-License-Identifier: Apache-2.0
#include "gam/model/model.hpp"

#include "base/math/elementary.hpp"
#include "files/output_file.hpp"
#include "gam/data/source/table_reader.hpp"
#include "gam/design/design_json.hpp"
#include "gam/formula/formula.hpp"
#include "gam/linalg/submatrix.hpp"
#include "gam/model/fitted_response.hpp"
#include "gam/model/recipe_json.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <tessera/error.hpp>
#include <tessera/version.hpp>

#include "files/input_file.hpp"
#include "files/json_file.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* format_name = "tessera-fit model";
/// Versions of the format; docs/model.md promises which are read. A model is written with the oldest version
/// that can represent it, so that older programs can read it. New in version 3: CRC-32 in the covariance
/// file's name. 4: only the diagonal of the covariance of a large random effect. 5: of several, only pairs of
/// levels in the data; radial columns, smooths without penalty, computed variables. 6: factor smooths and
/// t2(). 7: text with covariance. 8: curves at minus infinity. 9: several linear predictors. 10: shared
/// terms.
constexpr int oldest_version = 2;
constexpr int version_beside = 3;
constexpr int version_parted = 4;
constexpr int version_radial = 5;
constexpr int version_factor_smooth = 6;
constexpr int version_numbers = 7;
constexpr int version_absent = 8;
constexpr int version_several = 9;
constexpr int version_shared = 10;
constexpr int newest_version = version_shared;

/// Suffix of the covariance file in version 2.
constexpr std::string_view plain_suffix = ".cov";

/// Maximum number of columns of a covariance. Dense algebra cannot handle as many; the square fits 64 bits.
constexpr std::size_t max_model_columns = std::size_t{1} << 30;

static_assert(std::endian::native == std::endian::little, "the covariance file is little-endian");

Json terms_json(const FittedModel& model) {
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
      Json ranks = Json::array();
      for (std::size_t j = 0; j < block.penalty->count(); ++j, ++penalty) {
        log_sp.push_back(model.log_sp[penalty]);
        sp.push_back(base::exp(model.log_sp[penalty]));
        ranks.push_back(block.penalty->rank_of(j));
      }
      term["sp"] = sp;
      term["log_sp"] = log_sp;
      term["rank"] = ranks;
      term["null_space_dim"] = block.coef_size - block.penalty->rank();
      term["knots"] = block.knots;
      if (block.is_smooth() && smooth < model.smooth_tests.size()) {
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
  Json json{{"variables", std::move(variables)},
            {"linear_predictor", outline.linear_predictor},
            {"deviance_residual", outline.deviance_residual}};
  if (!outline.standardised_residual.empty()) json["standardised_residual"] = outline.standardised_residual;
  if (!outline.autocorrelation.empty()) json["autocorrelation"] = outline.autocorrelation;
  for (const VariableSummary& one : outline.summaries) {
    Json summary{{"name", one.name}};
    if (one.factor)
      summary["level"] = one.level;
    else
      summary["values"] = {one.least, one.median, one.greatest};
    if (!std::isnan(one.mean)) summary["mean"] = one.mean;
    json["var_summary"].push_back(std::move(summary));
  }
  for (const Occupancy& one : outline.occupancy)
    json["occupancy"].push_back({{"x", one.x}, {"y", one.y}, {"cells", one.cells}});
  for (const CurveExtent& one : outline.curves)
    json["curves"].push_back({{"smooth", one.smooth}, {"min", one.least}, {"max", one.greatest}});
  for (const std::vector<double>& one : outline.undetermined) json["undetermined"].push_back(one);
  return json;
}

Json columns_json(const Matrix& matrix) {
  Json columns = Json::array();
  for (int j = 0; j < matrix.cols(); ++j)
    columns.push_back(std::vector<double>(matrix.column(j).begin(), matrix.column(j).end()));
  return columns;
}

std::size_t packed_size(std::size_t size) {
  return size * (size + 1) / 2;
}

/// Packed storage of an upper triangular matrix: column by column, each down to the diagonal.
std::vector<double> packed(const Matrix& triangle) {
  std::vector<double> numbers;
  for (int j = 0; j < triangle.cols(); ++j) {
    const auto column = triangle.column(j).first(static_cast<std::size_t>(j) + 1);
    numbers.insert(numbers.end(), column.begin(), column.end());
  }
  return numbers;
}

Matrix unpacked(std::span<const double> numbers, int size) {
  Matrix triangle(size, size);
  for (int j = 0; j < size; ++j) {
    const auto count = static_cast<std::size_t>(j) + 1;
    std::ranges::copy(numbers.first(count), triangle.column(j).begin());
    numbers = numbers.subspan(count);
  }
  return triangle;
}

/// `Centring` without its covariance columns, which are stored together with the covariance.
Json centring_json(const FittedModel& model) {
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

Json response_json(const ModelResponse& response) {
  Json json{{"name", response.name}, {"type", response.type}};
  if (!response.levels.empty()) json["levels"] = response.levels;
  return json;
}

Json options_json(const SmoothingOptions& options) {
  Json json = Json::object();
  if (options.select) json["select"] = true;
  if (!options.sp.empty()) json["sp"] = options.sp;
  if (!options.min_sp.empty()) json["min_sp"] = options.min_sp;
  for (const auto& [variable, values] : options.knots)
    json["knots"].push_back({{"variable", variable}, {"values", values}});
  return json;
}

Json sample_json(const SampledRows& sample) {
  Json columns = Json::array();
  for (const SampledRows::Column& column : sample.columns) {
    Json json{{"name", column.name}, {"values", column.values}};
    if (!column.levels.empty()) json["levels"] = column.levels;
    columns.push_back(std::move(json));
  }
  return {{"rows", sample.rows}, {"columns", std::move(columns)}};
}

constexpr std::pair<const char*, double FittedModel::*> summary_numbers[]{
    {"scale", &FittedModel::scale},
    {"deviance", &FittedModel::deviance},
    {"null_deviance", &FittedModel::null_deviance},
    {"r_squared_adjusted", &FittedModel::r_squared_adjusted},
    {"reml", &FittedModel::reml},
    {"edf_total", &FittedModel::edf_total},
    {"aic", &FittedModel::aic}};

Json parameters_json(const Family& family) {
  Json parameters = Json::array();
  const auto names = family.parameter_names();
  for (std::size_t i = 0; i < names.size(); ++i)
    parameters.push_back(
        {{"name", names[i]}, {"value", family.parameters()[i]}, {"estimated", family.estimates(i)}});
  return parameters;
}

bool has_radial_columns(const Design& design) {
  return std::ranges::any_of(design.terms, [](const RawTerm& term) {
    return std::ranges::any_of(
        term.components, [](const Component& component) { return component.kind == Component::Kind::dense; });
  });
}

Json to_json(const FittedModel& model) {
  Json json{{"format", format_name},
            {"version", oldest_version},
            {"tessera", tessera::version()},
            {"formula", model.formula},
            {"family", model.family.several() ? model.family.text() : model.family.name()},
            {"link", model.family.link_name()},
            {"family_toml", model.family.toml().empty() ? Json() : Json(model.family.toml())},
            {"weights", model.weights.empty() ? Json() : Json(model.weights)},
            {"n", model.rows},
            {"rows_dropped", model.rows_dropped}};
  if (!model.offset.empty()) json["offset"] = model.offset;
  // Listed for readers that do not parse formulas.
  const FormulaTerms formula = parse_terms(model.formula);
  if (formula.predictors() == 1) {
    for (const Expression& one : formula.offsets) json["formula_offsets"].push_back(one.text);
  } else if (!formula.all_offsets().empty()) {
    for (int p = 0; p < formula.predictors(); ++p) {
      Json& own = json["formula_offsets"].emplace_back(Json::array());
      for (const Expression& one : formula.of_predictor(p).offsets) own.push_back(one.text);
    }
  }
  if (!model.subset.empty()) json["subset"] = model.subset;
  for (const auto& [column, unit] : model.units) json["units"].push_back({{"name", column}, {"unit", unit}});
  if (model.rho != 0) json["rho"] = model.rho;
  if (!model.ar_start.empty()) json["ar_start"] = model.ar_start;
  if (model.gamma != 1) json["gamma"] = model.gamma;
  if (!model.response_fingerprint.empty()) json["response_fingerprint"] = model.response_fingerprint;
  if (!model.response.name.empty()) json["response"] = response_json(model.response);
  if (Json options = options_json(model.smoothing_options); !options.empty())
    json["options"] = std::move(options);
  if (!model.family.parameters().empty()) json["family_parameters"] = parameters_json(model.family);
  // A list, because names may repeat, such as factor q at level 1 and a column q1.
  Json coefficients = Json::array();
  const auto names = model.design.coef_names();
  for (std::size_t i = 0; i < names.size(); ++i)
    coefficients.push_back({{"name", names[i]}, {"value", model.coef[i]}});
  json["coefficients"] = std::move(coefficients);
  if (!model.absent_rows.empty())
    json["absent_curves"] = {{"rows", model.absent_rows}, {"predictor", model.predictor_coef}};
  json["terms"] = terms_json(model);
  for (const auto& [name, number] : summary_numbers) json[name] = model.*number;
  if (!model.reml_gradient.empty()) {
    json["reml_gradient"] = model.reml_gradient;
    json["reml_hessian"] = model.reml_hessian;
  }
  if (model.covariance_scale != model.scale) json["covariance_scale"] = model.covariance_scale;
  if (!model.edf1.empty())
    json["edf1"] = model.edf1;
  else if (!std::isnan(model.edf1_total))
    json["edf1_total"] = model.edf1_total;
  json["iterations"] = model.iterations;
  json["converged"] = model.converged;
  if (!model.no_estimate.empty()) json["no_estimate"] = model.no_estimate;
  if (!model.why_not_converged.empty()) json["not_converged"] = model.why_not_converged;
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
  if (!model.triangle.empty()) json["triangle"] = packed(model.triangle);
  if (!model.column_means.empty()) json["column_means"] = model.column_means;
  json["outline"] = outline_json(model.outline);
  if (!model.sample.rows.empty()) json["sample"] = sample_json(model.sample);
  json["design"] = Json(to_json(model.design));
  if (!model.recipe.empty()) json["expressions"] = to_json(model.recipe);
  if (!model.centring.components.empty()) json["centring"] = centring_json(model);
  return json;
}

using files::JsonField;

constexpr const char* kind_of_file = "a model that tessera-fit wrote";
constexpr const char* advice = "restore it, or fit the model again";

VariableSummary summary_from(const JsonField& field) {
  VariableSummary summary{.name = field.at("name").text()};
  if (const auto level = field.find("level")) {
    summary.factor = true;
    summary.level = level->text();
    return summary;
  }
  const JsonField values = field.at("values");
  const std::vector<double> numbers = values.numbers(3);
  if (!std::ranges::is_sorted(numbers))
    values.refuse("must be in increasing order: minimum, median, maximum");
  summary.least = numbers[0];
  summary.median = numbers[1];
  summary.greatest = numbers[2];
  if (const auto mean = field.find("mean")) summary.mean = mean->number();
  return summary;
}

Occupancy occupancy_from(const JsonField& field) {
  Occupancy occupancy{.x = field.at("x").text(), .y = field.at("y").text(), .cells = {}};
  for (const JsonField& line : field.at("cells").elements(Occupancy::parts)) {
    occupancy.cells.push_back(line.text());
    const std::string& cells = occupancy.cells.back();
    if (cells.size() != Occupancy::parts || cells.find_first_not_of("01") != std::string::npos)
      line.refuse(fmt::format("must be a text of {} characters, each 0 or 1", Occupancy::parts));
  }
  return occupancy;
}

DataOutline outline_from(const JsonField& field) {
  DataOutline outline;
  for (const JsonField& one : field.at("variables").elements()) {
    VariableOutline variable{one.at("name").text(), one.at("min").number(), one.at("max").number(), {}};
    if (!(variable.min <= variable.max && std::isfinite(variable.max - variable.min)))
      one.refuse(
          fmt::format("has an extent from {:g} to {:g}, which is impossible", variable.min, variable.max));
    for (const JsonField& count : one.at("counts").elements())
      variable.counts.push_back(count.whole<std::int64_t>());
    outline.variables.push_back(std::move(variable));
  }
  outline.linear_predictor = field.at("linear_predictor").numbers_or_nan();
  outline.deviance_residual = field.at("deviance_residual").numbers_or_nan();
  if (const auto standardised = field.find("standardised_residual")) {
    outline.standardised_residual = standardised->numbers_or_nan();
    if (outline.standardised_residual.size() != outline.linear_predictor.size())
      standardised->refuse(fmt::format("has {} elements, but linear_predictor has {}",
                                       outline.standardised_residual.size(),
                                       outline.linear_predictor.size()));
  }
  if (const auto autocorrelation = field.find("autocorrelation"))
    outline.autocorrelation = autocorrelation->numbers_or_nan();
  if (const auto summaries = field.find("var_summary")) {
    for (const JsonField& one : summaries->elements()) outline.summaries.push_back(summary_from(one));
  }
  if (const auto occupancy = field.find("occupancy")) {
    for (const JsonField& one : occupancy->elements()) outline.occupancy.push_back(occupancy_from(one));
  }
  if (const auto curves = field.find("curves")) {
    for (const JsonField& one : curves->elements())
      outline.curves.push_back({one.at("smooth").text(), one.at("min").number(), one.at("max").number()});
  }
  if (const auto undetermined = field.find("undetermined")) {
    for (const JsonField& one : undetermined->elements()) outline.undetermined.push_back(one.numbers());
  }
  if (outline.linear_predictor.size() != outline.deviance_residual.size())
    field.at("deviance_residual")
        .refuse(fmt::format("has {} elements, but linear_predictor has {}", outline.deviance_residual.size(),
                            outline.linear_predictor.size()));
  return outline;
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::input, fmt::format("{}: {}", path, why));
}

/// CRC-32 in hexadecimal digits. It detects a covariance file of another fit.
std::string checksum(const void* bytes, std::size_t count) {
  return files::checksum_of({static_cast<const char*>(bytes), count});
}

/// Size of a stored covariance: a row per coefficient; a column per coefficient and per centred coefficient.
struct CovarianceSize {
  std::size_t coefficients = 0;
  std::size_t centred = 0;
  Part part{};
  bool has_pattern = false;  ///< whether the part is sparse, not diagonal
  std::uint64_t pairs = 0;   ///< stored elements below the diagonal of the part

  [[nodiscard]] std::size_t columns() const { return coefficients + centred; }
  [[nodiscard]] std::uint64_t pattern_numbers() const {
    return !has_pattern ? 0 : pairs + static_cast<std::uint64_t>(part.size()) + 1;
  }
  /// The arrays of the parted matrix, the centred columns, and the pattern.
  [[nodiscard]] std::uint64_t numbers() const {
    const auto own = static_cast<std::uint64_t>(part.size());
    const std::uint64_t core = coefficients - own;
    return core * core + own * core + own + pairs + std::uint64_t{coefficients} * centred + pattern_numbers();
  }
};

/// The sparsity pattern as stored (compressed columns): row indices, then the start of each column.
std::vector<double> numbers_of(const SparsePattern& pattern) {
  std::vector<double> numbers(pattern.rows.begin(), pattern.rows.end());
  numbers.insert(numbers.end(), pattern.begins.begin(), pattern.begins.end());
  return numbers;
}

/// Inverse of `numbers_of`; null if the numbers are not a valid pattern.
std::shared_ptr<const SparsePattern> pattern_from(std::span<const double> numbers, int size) {
  const std::size_t pairs = numbers.size() - static_cast<std::size_t>(size) - 1;
  const auto is_whole = [&](double v) {
    return v >= 0 && v <= static_cast<double>(pairs + numbers.size()) && v == std::floor(v);
  };
  if (!std::ranges::all_of(numbers, is_whole)) return nullptr;
  SparsePattern pattern;
  pattern.rows.assign(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(pairs));
  pattern.begins.assign(numbers.begin() + static_cast<std::ptrdiff_t>(pairs), numbers.end());
  if (pattern.begins.front() != 0 || pattern.begins.back() != static_cast<std::int64_t>(pairs) ||
      !std::ranges::is_sorted(pattern.begins))
    return nullptr;
  for (int column = 0; column < size; ++column) {
    int last = column;
    for (const int row : pattern.rows_of(column)) {
      if (row <= last || row >= size) return nullptr;
      last = row;
    }
  }
  return std::make_shared<const SparsePattern>(std::move(pattern));
}

/// An open covariance file. The constructor checks its size; `read` reads the numbers.
class CovarianceFile {
 public:
  CovarianceFile(const std::string& model, const std::string& suffix, CovarianceSize size)
      : file_(std::filesystem::canonical(model).string() + suffix),  // beside the model, not beside a link
        size_(size) {
    const auto bytes = static_cast<std::uint64_t>(file_.size());
    const std::uint64_t numbers = size.numbers();
    if (bytes % sizeof(double) != 0 || bytes / sizeof(double) != numbers)
      refuse(file_.path(), fmt::format("the file has {} bytes, but the covariance of {} coefficients has {} "
                                       "numbers: fit the model again",
                                       bytes, size.coefficients, numbers));
  }

  [[nodiscard]] std::vector<double> read(const std::string& expected) const {
    std::vector<double> values(size_.numbers());
    const std::size_t bytes = values.size() * sizeof(double);
    if (file_.read_at(0, {reinterpret_cast<char*>(values.data()), bytes}) != bytes)
      refuse(file_.path(), "the file was truncated while it was read: start again");
    if (checksum(values.data(), bytes) != expected)
      refuse(file_.path(), "the file does not belong to this model: fit the model again");
    const auto bad = std::find_if(values.begin(), values.end(), [](double v) { return !std::isfinite(v); });
    if (bad != values.end())
      refuse(file_.path(), fmt::format("the number at byte {} is not finite: fit the model again",
                                       8 * (bad - values.begin())));
    return values;
  }

 private:
  files::InputFile file_;
  CovarianceSize size_;
};

/// The stored covariance, in the model file or in a second file. The constructor checks that all values
/// exist, before the rest of the model takes memory.
class StoredCovariance {
 public:
  /// `path`: the model's file; empty for a model as text.
  StoredCovariance(const JsonField& field, CovarianceSize size, const std::string& path)
      : field_(field), size_(size), numbers_(field.find("numbers")) {
    if (const auto part = field.find("part")) read_part(*part);
    if (const auto suffix = field.find("suffix")) {
      // A crafted suffix could name any file.
      if (!is_covariance_suffix(suffix->text())) suffix->refuse("is not the name of a covariance file");
      if (path.empty())
        suffix->refuse(
            "refers to a second file, but a model given as text cannot have a second file: read the model "
            "from its file");
      file_.emplace(path, suffix->text(), size_);
      return;
    }
    if (numbers_) {
      static_cast<void>(numbers_->elements(size_.numbers()));
      return;
    }
    check(field.at("columns"), size.coefficients);
    if (size.centred > 0) check(field.at("centred_columns"), size.centred);
  }

  void read_into(FittedModel& model) const {
    const int size = static_cast<int>(size_.coefficients);
    const int centred = static_cast<int>(size_.centred);
    if (file_ || numbers_) {
      if (size_.part.size() > 0) set_part(model.design);
      const std::vector<double> all =
          file_ ? file_->read(field_.at("crc32").text()) : numbers_->numbers(size_.numbers());
      auto next = all.begin();
      const auto take = [&](std::span<double> values) {
        std::copy_n(next, values.size(), values.begin());
        next += std::ssize(values);
      };
      std::shared_ptr<const SparsePattern> pattern;
      if (const auto count = static_cast<std::size_t>(size_.pattern_numbers()); count > 0) {
        pattern = pattern_from(std::span(all).last(count), size_.part.size());
        if (!pattern) field_.at("part").refuse("has an invalid pattern of pairs of levels");
      }
      model.covariance = PartedMatrix(size, size_.part, std::move(pattern));
      model.covariance.for_each_array(take);
      model.centring.covariance = Matrix(size, centred);
      take(model.centring.covariance.values());
      return;
    }
    model.covariance = columns_from(field_.at("columns"), size_.coefficients);
    if (centred > 0) model.centring.covariance = columns_from(field_.at("centred_columns"), size_.centred);
  }

 private:
  /// A diagonal part has one run, and is stored as this run; a part with a pattern has a list `runs`.
  void read_part(const JsonField& part) {
    const int count = static_cast<int>(size_.coefficients);
    int end = 0;
    const auto add = [&](const JsonField& run) {
      const int begin = run.at("begin").whole(end, count - 1);
      const int size = run.at("size").whole(1, count - begin);
      size_.part.add(begin, size);
      end = begin + size;
    };
    const auto runs = part.find("runs");
    if (!runs) return add(part);
    for (const JsonField& run : runs->elements()) add(run);
    size_.has_pattern = true;
    size_.pairs = static_cast<std::uint64_t>(part.at("pairs").whole());
  }
  void set_part(Design& design) const {
    for (const Part::Run& run : size_.part.runs()) {
      const auto block = std::ranges::find(design.blocks, run.begin, &CoefBlock::coef_begin);
      if (block == design.blocks.end() || block->coef_size != run.size || !block->penalty ||
          (block->kind != "fs" && (!block->penalty->is_ridge() || !block->has_identity_map())))
        field_.at("part").refuse("is not a random effect of the model");
      if (size_.has_pattern == (block->kind != "fs" && size_.part.runs().size() < 2))
        field_.at("part").refuse(
            "must have pairs of levels exactly if it has several random effects or a smooth of basis fs");
      design.parted_columns.add(block->raw_begin, block->raw_size);
    }
  }
  void check(const JsonField& columns, std::size_t count) const {
    for (const JsonField& column : columns.elements(count))
      static_cast<void>(column.elements(size_.coefficients));
  }
  [[nodiscard]] Matrix columns_from(const JsonField& columns, std::size_t count) const {
    Matrix out(static_cast<int>(size_.coefficients), static_cast<int>(count));
    int j = 0;
    for (const JsonField& column : columns.elements(count)) {
      const std::vector<double> values = column.numbers(size_.coefficients);
      std::copy(values.begin(), values.end(), out.column(j++).begin());
    }
    return out;
  }

  JsonField field_;
  CovarianceSize size_;
  std::optional<JsonField> numbers_;
  std::optional<CovarianceFile> file_;
};

Centring centring_from(const JsonField& field, const Design& design) {
  Centring centring;
  for (const JsonField& one : field.at("components").elements()) {
    const std::size_t term = one.at("term").index_below(design.terms.size());
    const auto& components = design.terms[term].components;
    const std::size_t index = one.at("component").index_below(components.size());
    if (components[index].kind != Component::Kind::numeric)
      one.at("component").refuse("is not the index of a numeric component");
    Centring::CentredComponent component{static_cast<int>(term), static_cast<int>(index), {}};
    for (const JsonField& part : one.at("parts").elements()) {
      const JsonField name = part.at("variable");
      const auto found = std::find_if(
          design.variables.begin(), design.variables.end(),
          [&](const DesignVariable& variable) { return !variable.factor && variable.name == name.text(); });
      if (found == design.variables.end()) name.refuse("is not a numeric variable of the design");
      component.parts.push_back({static_cast<int>(found - design.variables.begin()),
                                 part.at("centre").number(), part.at("factor").number()});
    }
    centring.components.push_back(std::move(component));
  }
  for (const JsonField& index : field.at("coefficients").elements())
    centring.coefficients.push_back(
        static_cast<int>(index.index_below(static_cast<std::size_t>(design.coef_size))));
  centring.values = field.at("values").numbers(centring.coefficients.size());
  return centring;
}

Family family_from(const JsonField& json, const std::string& path) {
  if (const auto own = json.find("family_toml")) {
    try {
      return own_family(own->text(), "family_toml");
    } catch (const Error& fault) {
      own->refuse(fault.what());
    }
  }
  auto family = parse_family(json.at("family").text());
  if (family && family->several() == nullptr) family = family->linked(json.at("link").text());
  if (!family)
    refuse(
        path,
        "the family or link is unknown to this version: use the version of tessera-fit that wrote the model");
  if (family->parameters().empty()) return *family;
  const JsonField field = json.at("family_parameters");
  const auto elements = field.elements();
  if (!family->may_have(elements.size())) field.refuse("must have one value per parameter of the family");
  std::vector<double> values;
  for (const JsonField& one : elements) values.push_back(one.at("value").number());
  Family at_values = family->at(std::move(values));
  if (at_values.parameter_count() > 0)
    at_values = at_values.estimated(elements[at_values.has_classes() ? 1 : 0].at("estimated").truth());
  if (!at_values.parameters_are_valid()) field.refuse("has a value that the family does not allow");
  return at_values;
}

/// Checks that the formula has the design's variables and predictors, and that offsets are numeric.
void check_formula(const JsonField& json, const FittedModel& model) {
  const JsonField field = json.at("formula");
  FormulaTerms formula;
  try {
    formula = parse_terms(model.formula);
  } catch (const Error& fault) {
    field.refuse(fault.what());
  }
  const int predictors = model.family.predictor_count();
  if (formula.predictors() - formula.shared() != predictors ||
      model.design.predictors() > formula.predictors())
    field.refuse(fmt::format("must have {} linear predictors, like the family and the design", predictors));
  if (formula.all_readers() != model.design.readers)
    field.refuse("assigns shared terms to other linear predictors than the design does");
  std::vector<Expression> known = formula.variables();
  known.insert(known.end(), model.recipe.contrasts.begin(), model.recipe.contrasts.end());
  for (const DesignVariable& variable : model.design.variables) {
    const auto is_it = [&](const Expression& one) { return one.text == variable.name; };
    if (std::none_of(known.begin(), known.end(), is_it))
      field.refuse(fmt::format("does not use '{}', a variable of the design", variable.name));
    if (variable.factor && std::ranges::any_of(formula.all_offsets(), is_it))
      field.refuse(fmt::format("has the offset '{}', which is a factor in the design", variable.name));
  }
}

ModelResponse response_from(const JsonField& field) {
  ModelResponse response{field.at("name").text(), field.at("type").text()};
  if (const auto levels = field.find("levels")) response.levels = levels->texts();
  return response;
}

SmoothingOptions options_from(const JsonField& field) {
  SmoothingOptions options;
  if (const auto select = field.find("select")) options.select = select->truth();
  if (const auto sp = field.find("sp")) options.sp = sp->numbers();
  if (const auto least = field.find("min_sp")) options.min_sp = least->numbers();
  if (const auto knots = field.find("knots")) {
    for (const JsonField& one : knots->elements())
      options.knots[one.at("variable").text()] = one.at("values").numbers();
  }
  return options;
}

SampledRows sample_from(const JsonField& field) {
  SampledRows sample;
  for (const JsonField& row : field.at("rows").elements()) sample.rows.push_back(row.whole<std::int64_t>());
  for (const JsonField& one : field.at("columns").elements()) {
    SampledRows::Column& column = sample.columns.emplace_back();
    column.name = one.at("name").text();
    const JsonField values = one.at("values");
    column.values = values.numbers_or_nan();
    if (const auto levels = one.find("levels")) column.levels = levels->texts();
    const auto has_level = [&](double code) {
      return std::isnan(code) || (code >= 0 && code < static_cast<double>(column.levels.size()));
    };
    if (column.values.size() != sample.rows.size()) values.refuse("needs one value for each row");
    if (!column.levels.empty() && !std::ranges::all_of(column.values, has_level))
      values.refuse("has a code without a level");
  }
  return sample;
}

void read_terms(const JsonField& field, FittedModel& model) {
  const std::vector<JsonField> terms = field.elements(model.design.blocks.size());
  for (std::size_t i = 0; i < terms.size(); ++i) {
    CoefBlock& block = model.design.blocks[i];
    if (!block.penalty) continue;
    const std::vector<double> log_sp = terms[i].at("log_sp").numbers(block.penalty->count());
    for (std::size_t j = 0; j < log_sp.size(); ++j) {
      model.log_sp.push_back(log_sp[j]);
      if (is_given(block, j)) block.log_sp[j] = log_sp[j];
    }
    if (!block.is_smooth()) continue;
    model.smooth_tests.push_back({terms[i].at("label").text(), terms[i].at("edf").number_or_nan(),
                                  terms[i].at("ref_df").number_or_nan(),
                                  terms[i].at("statistic").number_or_nan(),
                                  terms[i].at("p_value").number_or_nan()});
  }
}

void read_summary(const JsonField& json, FittedModel& model) {
  for (const auto& [name, number] : summary_numbers) model.*number = json.at(name).number_or_nan();
  const auto covariance_scale = json.find("covariance_scale");
  model.covariance_scale = covariance_scale ? covariance_scale->number() : model.scale;
  if (const auto edf1 = json.find("edf1_total")) model.edf1_total = edf1->number();
  if (const auto gradient = json.find("reml_gradient")) {
    model.reml_gradient = gradient->numbers_or_nan();
    const std::size_t size = model.reml_gradient.size();
    const JsonField hessian = json.at("reml_hessian");
    model.reml_hessian = hessian.numbers_or_nan();
    const std::size_t numbers = model.reml_hessian.size();
    if (numbers != size * size && numbers != (size + 1) * (size + 1))
      hessian.refuse(fmt::format("needs {0} x {0} numbers, or {1} x {1} with the scale", size, size + 1));
  }
  model.iterations = json.at("iterations").whole();
  model.converged = json.at("converged").truth();
  if (const auto reason = json.find("no_estimate")) model.no_estimate = reason->text();
  if (const auto reason = json.find("not_converged")) model.why_not_converged = reason->text();
  model.verdict = json.at("verdict").text();
  for (const JsonField& test : json.at("parametric").elements())
    model.coefficient_tests.push_back({test.at("name").text(), test.at("estimate").number_or_nan(),
                                       test.at("standard_error").number_or_nan(),
                                       test.at("statistic").number_or_nan(),
                                       test.at("p_value").number_or_nan()});
}

/// `path`: the model's file; empty for a model as text. `name`: for messages.
FittedModel from_json(const JsonField& json, const std::string& path, const std::string& name) {
  FittedModel model;
  model.formula = json.at("formula").text();
  model.family = family_from(json, name);
  if (const auto weights = json.find("weights")) model.weights = weights->text();
  if (const auto offset = json.find("offset")) model.offset = offset->text();
  if (const auto subset = json.find("subset")) model.subset = subset->text();
  if (const auto units = json.find("units")) {
    for (const JsonField& one : units->elements())
      model.units.emplace_back(one.at("name").text(), one.at("unit").text());
  }
  if (const auto rho = json.find("rho")) {
    model.rho = rho->number();
    if (!(std::abs(model.rho) < 1)) rho->refuse("is not between -1 and 1");
  }
  if (const auto start = json.find("ar_start")) model.ar_start = start->text();
  if (const auto gamma = json.find("gamma")) model.gamma = gamma->number();
  if (const auto print = json.find("response_fingerprint")) model.response_fingerprint = print->text();
  if (const auto response = json.find("response")) model.response = response_from(*response);
  if (const auto options = json.find("options")) model.smoothing_options = options_from(*options);
  model.rows = json.at("n").whole<std::int64_t>();
  model.rows_dropped = json.at("rows_dropped").whole<std::int64_t>();
  if (model.rows_dropped > std::numeric_limits<std::int64_t>::max() - model.rows)
    json.at("rows_dropped").refuse("is too large");
  const auto absent = json.find("absent_curves");
  for (const JsonField& coefficient : json.at("coefficients").elements()) {
    const JsonField value = coefficient.at("value");
    model.coef.push_back(absent ? value.number_or_nan() : value.number());
  }
  if (absent) {
    model.absent_rows = absent->at("rows").numbers(model.coef.size());
    model.predictor_coef = absent->at("predictor").numbers(model.coef.size());
  }
  const auto centring = json.find("centring");
  const CovarianceSize size{model.coef.size(), centring ? centring->at("coefficients").size() : 0};
  if (size.columns() > max_model_columns) json.at("coefficients").refuse("are too many");
  const StoredCovariance covariance(json.at("covariance"), size, path);
  model.design = design_from_json(json.at("design"), static_cast<int>(model.coef.size()));
  if (const auto expressions = json.find("expressions")) model.recipe = recipe_from_json(*expressions);
  check_formula(json, model);
  read_terms(json.at("terms"), model);
  read_summary(json, model);
  model.edf = json.at("edf").numbers(model.coef.size());
  if (const auto edf1 = json.find("edf1")) {
    model.edf1 = edf1->numbers_or_nan();
    if (model.edf1.size() != model.coef.size()) edf1->refuse("needs one number per coefficient");
    model.edf1_total = std::accumulate(model.edf1.begin(), model.edf1.end(), 0.0);
  }
  if (const auto triangle = json.find("triangle"))
    model.triangle = unpacked(triangle->numbers(packed_size(model.coef.size())), model.design.coef_size);
  if (const auto means = json.find("column_means")) model.column_means = means->numbers(model.coef.size());
  if (const auto outline = json.find("outline")) model.outline = outline_from(*outline);
  if (const auto sample = json.find("sample")) model.sample = sample_from(*sample);
  if (centring) model.centring = centring_from(*centring, model.design);
  covariance.read_into(model);
  if (!model.triangle.empty() && model.covariance.is_parted())
    json.at("triangle").refuse("cannot be combined with a covariance of large random effects");
  return model;
}

}  // namespace

PredictiveModel FittedModel::predictive() const {
  PredictiveModel out{design, coef, covariance};
  for (const Centring::CentredComponent& one : centring.components) {
    out.design.terms[static_cast<std::size_t>(one.term)]
        .components[static_cast<std::size_t>(one.component)]
        .parts = one.parts;
  }
  for (std::size_t k = 0; k < centring.coefficients.size(); ++k) {
    const int index = centring.coefficients[k];
    out.coef[static_cast<std::size_t>(index)] = centring.values[k];
    if (covariance.empty()) continue;
    const auto column = centring.covariance.column(static_cast<int>(k));
    for (int i = 0; i < covariance.size(); ++i)
      out.covariance.set(i, index, column[static_cast<std::size_t>(i)]);
  }
  return out;
}

SmoothingUncertainty FittedModel::smoothing_uncertainty() const {
  return gam::smoothing_uncertainty(design, {.coef = coef,
                                             .covariance = covariance,
                                             .log_sp = log_sp,
                                             .scale = scale,
                                             .covariance_scale = covariance_scale,
                                             .scale_known = family.scale().has_value(),
                                             .gamma = gamma,
                                             .rows = rows});
}

double FittedModel::block_edf(const CoefBlock& block) const {
  double sum = 0;
  for (int i = 0; i < block.coef_size; ++i)
    sum += edf[static_cast<std::size_t>(block.coef_begin) + static_cast<std::size_t>(i)];
  return sum;
}

bool is_covariance_suffix(std::string_view text) {
  if (!text.starts_with(plain_suffix)) return false;
  const std::string_view rest = text.substr(plain_suffix.size());
  return rest.empty() || (rest.size() == 9 && rest[0] == '-' &&
                          rest.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos);
}

namespace {

/// The numbers of the covariance, in the order of the covariance file.
std::vector<double> covariance_numbers(const FittedModel& model) {
  std::vector<double> all;
  const auto append = [&](std::span<const double> values) {
    all.insert(all.end(), values.begin(), values.end());
  };
  model.covariance.for_each_array(append);
  append(model.centring.covariance.values());
  if (model.covariance.pattern()) append(numbers_of(*model.covariance.pattern()));
  return all;
}

Json part_json(const PartedMatrix& covariance) {
  Json runs = Json::array();
  for (const Part::Run& run : covariance.part().runs())
    runs.push_back({{"begin", run.begin}, {"size", run.size}});
  if (!covariance.pattern()) return runs.front();
  return {{"runs", runs}, {"pairs", covariance.beside.size()}};
}

Json whole_covariance_json(const FittedModel& model) {
  Json json{{"rows", model.covariance.size()}, {"columns", columns_json(model.covariance.core)}};
  if (!model.centring.covariance.empty()) json["centred_columns"] = columns_json(model.centring.covariance);
  return json;
}

/// The JSON text, with its version. Only the host name may have invalid UTF-8, which is replaced.
std::string dumped(Json& json, const FittedModel& model) {
  const auto at_least = [&](int version) { json["version"] = std::max(json["version"].get<int>(), version); };
  const bool any_fixed = std::ranges::any_of(model.design.blocks, [](const CoefBlock& block) {
    return block.penalty && block.penalty->count() == 0;
  });
  if (any_fixed || has_radial_columns(model.design) || model.family.link() > 0 || !model.recipe.empty())
    at_least(version_radial);
  if (std::ranges::any_of(model.design.blocks, [](const CoefBlock& block) {
        return block.is_factor_smooth() || block.kind == "t2";
      }))
    at_least(version_factor_smooth);
  if (!model.absent_rows.empty()) at_least(version_absent);
  const bool any_penalised = std::ranges::any_of(
      model.design.blocks, [](const CoefBlock& block) { return block.penalty && !block.is_smooth(); });
  if (model.family.several() != nullptr || any_penalised) at_least(version_several);
  if (!model.design.readers.empty()) at_least(version_shared);
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

FittedModel model_in(const files::JsonFile& file, const std::string& path) {
  const JsonField json = file.root();
  const auto not_it = [&] { refuse(file.name(), fmt::format("is not {}", kind_of_file)); };
  try {
    if (json.at("format").text() != format_name) not_it();
  } catch (const Error&) {
    not_it();
  }
  const int version = json.at("version").whole();
  if (version > newest_version)
    refuse(file.name(), fmt::format("the file has format version {}, but this version of tessera-fit reads "
                                    "versions up to {}: use a newer tessera-fit",
                                    version, newest_version));
  if (version < oldest_version)
    refuse(file.name(), "the file was written by an older version of tessera-fit: fit the model again");
  FittedModel model = from_json(json, path, file.name());
  model.path = path;
  model.checksum = file.checksum();
  return model;
}

}  // namespace

SavedModel save_model(const FittedModel& model, const std::string& path, int inline_limit) {
  Json json = to_json(model);
  const PartedMatrix& covariance = model.covariance;
  files::OutputFile file(path);
  std::optional<files::OutputFile> beside;
  std::string suffix;
  if (covariance.size() > inline_limit || covariance.is_parted()) {
    const std::vector<double> all = covariance_numbers(model);
    const std::string crc = checksum(all.data(), all.size() * sizeof(double));
    suffix = fmt::format("{}-{}", plain_suffix, crc);
    beside.emplace(file, suffix).write(std::span<const double>(all));
    json["version"] = version_beside;
    json["covariance"] = {{"suffix", suffix},
                          {"rows", covariance.size()},
                          {"layout", "little-endian float64, column by column"},
                          {"crc32", crc}};
    if (covariance.is_parted()) {
      json["version"] = covariance.pattern() ? version_radial : version_parted;
      json["covariance"]["layout"] = fmt::format(
          "little-endian float64, column by column: without the part, the part by the others, the diagonal "
          "of "
          "the part{}",
          covariance.pattern() ? ", what it has below it; at the end the rows of these, and where each "
                                 "column's begin"
                               : "");
      json["covariance"]["part"] = part_json(covariance);
    }
  } else {
    json["covariance"] = whole_covariance_json(model);
  }
  const std::string text = dumped(json, model);
  file.write(text);
  // Flush both before any file is replaced, to detect a full disk.
  if (beside) beside->flush();
  file.flush();
  if (beside) {
    // The covariance first: otherwise a power failure could leave the new model without its covariance.
    if (const std::string problem = beside->commit(); !problem.empty())
      throw Error(ErrorCode::input, fmt::format("{}: was not replaced: {}", path, problem));
  }
  SavedModel saved{files::checksum_of(text), file.commit(), {}};
  saved.strangers = file.remove_beside(
      [&](std::string_view name) {
        if (!name.starts_with(file.name())) return false;
        const std::string_view rest = name.substr(file.name().size());
        return is_covariance_suffix(rest) && rest != suffix;
      },
      [](std::string_view name, const base::Descriptor& other) {
        // 00000000 is the CRC-32 of an empty file, which is no covariance.
        const auto status = other.status();
        if (!status || status->st_size == 0) return false;
        const auto crc = files::checksum_of(other);
        return crc && name.ends_with(fmt::format("{}-{}", plain_suffix, *crc));
      });
  return saved;
}

std::optional<NamedResponse> named_response(const std::string& path) {
  std::size_t end = std::string::npos;
  for (const std::string_view ending : {".h5:", ".hdf5:"}) {
    const std::size_t found = path.find(ending);
    if (found != std::string::npos) end = std::min(end, found + ending.size() - 1);
  }
  std::error_code unreadable;
  if (end == std::string::npos || std::filesystem::exists(path, unreadable)) return std::nullopt;
  return NamedResponse{path.substr(0, end), path.substr(end + 1)};
}

FittedModel read_model(const std::string& path) {
  if (path.ends_with(".h5") || path.ends_with(".hdf5"))
    refuse(path, "the file contains many models: name a response, for example " + path + ":NAME");
  return model_in(files::JsonFile(path, kind_of_file, advice), path);
}

std::string model_text(const FittedModel& model) {
  Json json = to_json(model);
  if (model.covariance.is_parted()) {
    json["version"] = version_numbers;
    json["covariance"] = {{"rows", model.covariance.size()},
                          {"part", part_json(model.covariance)},
                          {"numbers", covariance_numbers(model)}};
  } else {
    json["covariance"] = whole_covariance_json(model);
  }
  return dumped(json, model);
}

FittedModel parse_model(std::string_view text) {
  return model_in(files::JsonFile::parsed(text, "the text of a model", kind_of_file, advice), {});
}

}  // namespace TESSERA_NAMESPACE::gam
