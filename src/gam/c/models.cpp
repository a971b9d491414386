// SPDX-License-Identifier: Apache-2.0
#include "gam/c/handles.hpp"
#include "gam/model/model.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/anova.hpp>
#include <tessera/gam/options.hpp>
#include <tessera/gam/report.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam::c {
namespace {

struct Shape {
  std::size_t rows = 1;
  std::size_t columns = 1;
};

struct NamedValue {
  std::string_view name;
  Shape (*shape)(const Model& model);
  void (*copy)(const Model& model, std::span<double> to);
};

Shape of_one(const Model& /*model*/) {
  return {};
}
Shape of_coefficients(const Model& model) {
  return {model.coefficients().size(), 1};
}
Shape square(std::size_t size) {
  return {size, size};
}

template <auto member>
void copy_number(const Model& model, std::span<double> to) {
  to[0] = static_cast<double>((model.*member)());
}
template <double ModelFigures::*member>
void copy_figure(const Model& model, std::span<double> to) {
  to[0] = figures_of(model).*member;
}
template <auto member>
void copy_all(const Model& model, std::span<double> to) {
  const auto& values = (model.*member)();
  std::copy_n(values.data(), to.size(), to.begin());
}

/// A value that is a list of numbers, returned by `list(model)`.
template <auto list>
constexpr NamedValue column(std::string_view name) {
  return {name,
          [](const Model& model) {
            return Shape{std::ranges::size(std::invoke(list, model)), 1};
          },
          [](const Model& model, std::span<double> to) {
            std::ranges::copy(std::invoke(list, model), to.begin());
          }};
}

std::vector<double> sp_of(const Model& model) {
  std::vector<double> values;
  for (const SmoothingParameter& one : model.smoothing_parameters()) values.push_back(one.value);
  return values;
}
std::vector<double> ranks_of(const Model& model) {
  std::vector<double> ranks;
  for (const TermPenalty& one : model.penalties()) ranks.push_back(one.rank);
  return ranks;
}
std::vector<double> null_spaces_of(const Model& model) {
  std::vector<double> dimensions;
  for (const CoefBlock& block : model.fitted().design.blocks) {
    if (block.is_smooth()) dimensions.push_back(block.coef_size - block.penalty->rank());
  }
  return dimensions;
}
std::vector<double> terms_of_blocks(const Model& model) {
  const Design& design = model.fitted().design;
  std::vector<double> terms;
  for (const CoefBlock& block : design.blocks) terms.push_back(static_cast<double>(design.term_index(block)));
  return terms;
}
std::vector<std::string> knots_of(const Model& model) {
  std::vector<std::string> texts;
  for (const auto& [variable, values] : model.smoothing_options().knots)
    texts.push_back(fmt::format("{}={}", variable, fmt::join(values, ",")));
  return texts;
}
std::vector<std::string> sampled_columns(const Model& model) {
  std::vector<std::string> names;
  for (const SampledRows::Column& column : model.sample().columns) names.push_back(column.name);
  return names;
}

void copy_covariance(const Model& model, std::span<double> to) {
  const int size = static_cast<int>(model.coefficients().size());
  if (!model.covariance().empty()) {
    std::ranges::copy(model.covariance(), to.begin());
    return;
  }
  auto next = to.begin();
  for (int j = 0; j < size; ++j) {
    for (int i = 0; i < size; ++i) *next++ = model.covariance(i, j);
  }
}

constexpr NamedValue values[]{
    {"coefficients", of_coefficients, copy_all<&Model::coefficients>},
    {"edf", of_coefficients, copy_all<&Model::coefficient_edf>},
    {"edf1",
     [](const Model& model) {
       return Shape{model.coefficient_edf1().size(), 1};
     },
     copy_all<&Model::coefficient_edf1>},
    {"edf2",
     [](const Model& model) {
       return Shape{static_cast<std::size_t>(model.triangle().rows()), 1};
     },
     copy_all<&Model::coefficient_edf2>},
    {"covariance", [](const Model& model) { return square(model.coefficients().size()); }, copy_covariance},
    {"Ve", [](const Model& model) { return square(static_cast<std::size_t>(model.triangle().rows())); },
     copy_all<&Model::estimator_covariance>},
    {"Vc",
     [](const Model& model) { return square(model.covariance().empty() ? 0 : model.coefficients().size()); },
     copy_all<&Model::corrected_covariance>},
    {"R", [](const Model& model) { return square(static_cast<std::size_t>(model.triangle().rows())); },
     copy_all<&Model::triangle>},
    column<sp_of>("sp"),
    column<&Model::reml_gradient>("reml_gradient"),
    {"reml_hessian",
     [](const Model& model) {
       const std::size_t count = model.reml_gradient().size();
       return square(model.reml_hessian().size() == count * count ? count : count + 1);
     },
     copy_all<&Model::reml_hessian>},
    column<ranks_of>("rank"),
    column<null_spaces_of>("null_space_dim"),
    column<terms_of_blocks>("block_terms"),
    {"select", of_one,
     [](const Model& model, std::span<double> to) { to[0] = model.smoothing_options().select ? 1 : 0; }},
    column<[](const Model& model) { return model.smoothing_options().sp; }>("given_sp"),
    column<[](const Model& model) { return model.smoothing_options().min_sp; }>("min_sp"),
    {"sample",
     [](const Model& model) {
       return Shape{model.sample().rows.size(), model.sample().columns.size()};
     },
     [](const Model& model, std::span<double> to) {
       auto next = to.begin();
       for (const SampledRows::Column& one : model.sample().columns)
         next = std::ranges::copy(one.values, next).out;
     }},
    {"n", of_one, copy_number<&Model::rows>},
    {"n_dropped", of_one, copy_number<&Model::rows_dropped>},
    {"converged", of_one, copy_number<&Model::converged>},
    {"iterations", of_one, copy_number<&Model::iterations>},
    {"edf_total", of_one, copy_number<&Model::edf>},
    {"edf1_total", of_one, copy_figure<&ModelFigures::edf1>},
    {"edf2_total", of_one, copy_figure<&ModelFigures::edf2>},
    {"scale", of_one, copy_number<&Model::scale>},
    {"scale_is_estimated", of_one, copy_number<&Model::scale_is_estimated>},
    {"covariance_scale", of_one, copy_number<&Model::covariance_scale>},
    {"deviance", of_one, copy_number<&Model::deviance>},
    {"null_deviance", of_one, copy_number<&Model::null_deviance>},
    {"residual_df", of_one, copy_figure<&ModelFigures::residual_df>},
    {"deviance_explained", of_one, copy_number<&Model::deviance_explained>},
    {"r_squared_adjusted", of_one, copy_number<&Model::r_squared_adjusted>},
    {"reml", of_one, copy_number<&Model::reml>},
    {"rho", of_one, copy_number<&Model::rho>},
    {"log_likelihood", of_one, copy_figure<&ModelFigures::log_likelihood>},
    {"log_likelihood_df", of_one, copy_figure<&ModelFigures::log_likelihood_df>},
    {"AIC", of_one, copy_figure<&ModelFigures::aic>},
    {"aic", of_one, copy_number<&Model::aic>},
};

constexpr auto value_names = [] {
  std::array<const char*, std::size(values) + 1> names{};
  std::ranges::transform(values, names.begin(), [](const NamedValue& value) { return value.name.data(); });
  return names;
}();

struct NamedTexts {
  std::string_view name;
  std::vector<std::string> (*texts)(const Model& model);
};

constexpr NamedTexts texts[]{
    {"formula", [](const Model& model) { return std::vector{model.formula()}; }},
    {"family", [](const Model& model) { return std::vector{model.fitted().family.title()}; }},
    {"link", [](const Model& model) { return std::vector{std::string(model.fitted().family.link_name())}; }},
    {"verdict", [](const Model& model) { return std::vector{model.verdict()}; }},
    {"no_estimate", [](const Model& model) { return std::vector{model.no_estimate()}; }},
    {"why_not_converged", [](const Model& model) { return std::vector{model.why_not_converged()}; }},
    {"coefficients", [](const Model& model) { return model.coefficient_names(); }},
    {"smooths",
     [](const Model& model) {
       std::vector<std::string> labels;
       for (const SmoothTest& smooth : model.tests().smooths) labels.push_back(smooth.label);
       return labels;
     }},
    {"response", [](const Model& model) { return std::vector{model.response().name}; }},
    {"response_type", [](const Model& model) { return std::vector{model.response().type}; }},
    {"response_levels", [](const Model& model) { return model.response().levels; }},
    {"knots", knots_of},
    {"sample", sampled_columns},
};

template <class Named, std::size_t count>
const Named& named(const Named (&all)[count], const char* name) {
  require(name, "name");
  const auto* const found = std::ranges::find(all, std::string_view(name), &Named::name);
  if (found != std::end(all)) return *found;
  std::string known;
  for (const Named& one : all) known.append(known.empty() ? "" : ", ").append(one.name);
  refuse(fmt::format("a model has no '{}': give one of {}", name, known));
}

DevianceTest test_of(const std::string& name, const Model& model) {
  if (name == "none") return DevianceTest::none;
  if (name == "F") return DevianceTest::f;
  if (name == "Chisq") return DevianceTest::chi_squared;
  if (name != "auto") refuse(fmt::format("unknown test '{}': give F, Chisq, none or auto", name));
  return model.scale_is_estimated() ? DevianceTest::f : DevianceTest::chi_squared;
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::c

namespace gam = tessera::gam;
namespace c = tessera::gam::c;

int tessera_gam_model_close(tessera_gam_model model) {
  return c::status_of("tessera_gam_model_close", [&] { c::close_handle(c::Kind::model, model); });
}

int tessera_gam_model_to_json(tessera_gam_model model, const char** text, size_t* length) {
  return c::status_of("tessera_gam_model_to_json", [&] {
    c::require(text, "text");
    c::give(gam::to_json(*c::object_of<gam::Model>(model)), text, length);
  });
}
int tessera_gam_model_from_json(const char* text, size_t length, tessera_gam_model* model) {
  return c::status_of("tessera_gam_model_from_json", [&] {
    c::require(text, "text");
    c::require(model, "model");
    c::require_possible(length, "text");
    *model = c::handle_of(gam::model_from_json({text, length}));
  });
}
int tessera_gam_model_save(tessera_gam_model model, const char* path) {
  return c::status_of("tessera_gam_model_save", [&] {
    c::require(path, "path");
    const std::string problem = gam::save_model(*c::object_of<gam::Model>(model), path).problem;
    if (!problem.empty()) throw tessera::Error(tessera::ErrorCode::input, problem);
  });
}
int tessera_gam_model_load(const char* path, tessera_gam_model* model) {
  return c::status_of("tessera_gam_model_load", [&] {
    c::require(path, "path");
    c::require(model, "model");
    *model = c::handle_of(gam::load_model(path));
  });
}

const char* tessera_gam_options() {
  const char* found = nullptr;
  static_cast<void>(c::status_of("tessera_gam_options", [&] {
    static const std::string table = gam::options_json();
    found = table.c_str();
  }));
  return found;
}
const char* const* tessera_gam_model_names() {
  return c::value_names.data();
}
int tessera_gam_model_shape(tessera_gam_model model, const char* name, size_t* rows, size_t* columns) {
  return c::status_of("tessera_gam_model_shape", [&] {
    c::require(rows, "rows");
    c::require(columns, "columns");
    const c::Shape shape = c::named(c::values, name).shape(*c::object_of<gam::Model>(model));
    *rows = shape.rows;
    *columns = shape.columns;
  });
}
int tessera_gam_model_values(tessera_gam_model model, const char* name, double* values, size_t count) {
  return c::status_of("tessera_gam_model_values", [&] {
    const auto of = c::object_of<gam::Model>(model);
    const c::NamedValue& value = c::named(c::values, name);
    const c::Shape shape = value.shape(*of);
    c::require_count(count, shape.rows * shape.columns, "values");
    if (count == 0) return;
    c::require(values, "values");
    value.copy(*of, {values, count});
  });
}
int tessera_gam_model_text_count(tessera_gam_model model, const char* name, size_t* count) {
  return c::status_of("tessera_gam_model_text_count", [&] {
    c::require(count, "count");
    *count = c::named(c::texts, name).texts(*c::object_of<gam::Model>(model)).size();
  });
}
int tessera_gam_model_text(tessera_gam_model model, const char* name, size_t index, const char** text) {
  return c::status_of("tessera_gam_model_text", [&] {
    c::require(text, "text");
    std::vector<std::string> all = c::named(c::texts, name).texts(*c::object_of<gam::Model>(model));
    if (index >= all.size())
      c::refuse(
          fmt::format("'{}' of the model has no element {}: the number of elements is {}, counted from 0",
                      name, index, all.size()));
    c::give(std::move(all[index]), text);
  });
}

int tessera_gam_summary(tessera_gam_model model, int32_t form, const char** text, size_t* length) {
  return c::status_of("tessera_gam_summary", [&] {
    c::require_form(form, text);
    const auto of = c::object_of<gam::Model>(model);
    c::give(c::report_in(
                form, [&] { return gam::summary(*of); }, [&] { return gam::summary_json(*of); }),
            text, length);
  });
}
int tessera_gam_anova(const tessera_gam_model* models, size_t count, const char* test, int32_t form,
                      const char** text, size_t* length) {
  return c::status_of("tessera_gam_anova", [&] {
    c::require_form(form, text);
    const std::vector<gam::Model> all = c::models_of(models, count);
    const gam::DevianceTest wanted = c::test_of(c::text_of(test, "test"), all.front());
    c::give(
        c::report_in(
            form, [&] { return gam::anova_text(all, wanted); }, [&] { return gam::anova_json(all, wanted); }),
        text, length);
  });
}
