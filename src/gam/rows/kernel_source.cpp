// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/kernel_source.hpp"

#include "gam/rows/prediction_view.hpp"
#include "gam/rows/slice_batch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace TESSERA_NAMESPACE::gam {
namespace {

std::string text_of(const MarginTable& margin) {
  // A margin's range and spacing depend on the data, so they are not constants.
  return fmt::format("{{{}, {}, {}, {}, {}, 0, 0, 0, {}, {}, {}, {}}}", margin.cells, margin.stride,
                     margin.uniform, margin.cyclic, margin.alike, margin.breaks, margin.origins,
                     margin.inverse_widths, margin.cubics);
}

std::string text_of(const ComponentTable& component) {
  // The number of points of dense columns depends on the data, so it is not a constant.
  const MarginTable& margin = component.kind == ComponentKind::dense ? MarginTable() : component.margin;
  return fmt::format("{{ComponentKind({}), {}, {}, {}, {}, {}, {}}}", static_cast<int>(component.kind),
                     component.variable, component.part_begin, component.parts, component.part_numbers,
                     text_of(margin), component.columns);
}

std::string text_of(const TermTable& term) {
  return fmt::format("{{{}, {}, {}, {}, {}, {}, {}, {}, {}}}", term.component_begin, term.component_end,
                     term.placement_begin, term.placement_end, term.nonzeros, term.raw_begin,
                     term.value_begin, term.combined, term.predictor);
}

std::string text_of(const Placement& placement) {
  return fmt::format("{{{}, {}, {}}}", placement.size, placement.stride_begin, placement.offset_begin);
}

std::string text_of(std::int64_t value) {
  return std::to_string(value);
}

/// A constant array; an empty one gets one element, since C++ has no empty arrays.
template <class T>
std::string array(const char* type, const char* name, const std::vector<T>& elements) {
  std::vector<std::string> texts;
  texts.reserve(elements.size());
  for (const T& element : elements) texts.push_back(text_of(element));
  if (texts.empty()) texts.push_back(text_of(T{}));
  return fmt::format("__device__ constexpr {} {}[] = {{\n  {}}};\n", type, name, fmt::join(texts, ",\n  "));
}

/// The text of a function that calls another for each term, with the term's index as a constant.
std::string each_term(std::size_t count) {
  std::string text = "template <class Do>\nvoid for_each_term(Do&& work) {\n";
  for (std::size_t t = 0; t < count; ++t) text += fmt::format("  work(Number<{}>{{}});\n", t);
  return text + "}\n";
}

/// The text of a function that calls another with a product's numbers of nonzeros as constants.
std::string each_shape(std::span<const Product> products) {
  std::set<std::pair<int, int>> shapes;
  for (const Product& product : products) shapes.emplace(product.row_nonzeros, product.column_nonzeros);
  std::string text = "template <class Do>\nvoid with_shape(int row, int column, Do&& work) {\n";
  for (const auto& [row, column] : shapes) {
    text += fmt::format("  if (row == {0} && column == {1}) work(Number<{0}>{{}}, Number<{1}>{{}});\n", row,
                        column);
  }
  return text + "}\n";
}

/// The linear predictors that the terms of each formula are added to; without shared terms, its own alone.
std::string readers_text(const std::vector<std::vector<int>>& readers, int predictors) {
  const auto count = static_cast<std::size_t>(predictors);
  std::vector<std::int64_t> are_read(readers.size() * count);
  for (std::size_t f = 0; f < readers.size(); ++f)
    for (const int reader : readers[f]) are_read[f * count + static_cast<std::size_t>(reader)] = 1;
  return fmt::format("constexpr bool shares = {};\n", !readers.empty()) + array("bool", "are_read", are_read);
}

/// The model's constants for every kernel. `products`: the products that the kernels form; `view`: the header
/// that declares their arguments.
std::string constants(const Rows& rows, const RowLayout& layout, std::span<const Product> products,
                      std::string_view view) {
  std::string text = fmt::format("#pragma once\n#include \"{}\"", view);
  text += R"(
#include "gam/family/list.hpp"
#include "gam/family/location_scale.hpp"
#include "gam/family/own_functions.hpp"
#include "gam/rows/evaluation.hpp"
namespace TESSERA_NAMESPACE::gam::fixed {
template <int n>
struct Number {
  static constexpr int value = n;
};
)";
  const auto number = [&text](const char* name, std::size_t value) {
    text += fmt::format("constexpr int {} = {};\n", name, static_cast<std::int64_t>(value));
  };
  text += rows.family.device_source();
  text += fmt::format("constexpr int response = {};\n", rows.response);
  text += fmt::format("constexpr int limit = {};\n", rows.limit);
  text += fmt::format("constexpr int prior_weight = {};\n", rows.prior_weight);
  std::vector<int> offsets = rows.offsets;
  std::vector<int> of_predictors(offsets.size());
  for (std::size_t p = 0; p < rows.further_offsets.size(); ++p) {
    offsets.insert(offsets.end(), rows.further_offsets[p].begin(), rows.further_offsets[p].end());
    of_predictors.resize(offsets.size(), static_cast<int>(p) + 1);
  }
  number("predictors", static_cast<std::size_t>(layout.predictors()));
  number("planes", static_cast<std::size_t>(layout.planes()));
  text += fmt::format("constexpr bool several = {};\n", layout.several());
  text += readers_text(layout.readers(), rows.family.predictor_count());
  number("offset_count", offsets.size());
  number("term_count", layout.terms.size() - 1);
  number("placement_count", layout.placements.size());
  text += array("int", "offset_variables", offsets);
  text += array("int", "offset_predictors", of_predictors);
  text += array("int", "part_variables", layout.tables.part_variables);
  text += array("int", "strides", layout.strides);
  text += array("int", "offsets", layout.offsets);
  text += array("long long", "lines", layout.lines);
  text += array("Placement", "placements", layout.placements);
  text += array("ComponentTable", "components", layout.tables.components);
  text += array("TermTable", "terms", layout.terms);
  text += each_term(layout.terms.size() - 1);
  text += each_shape(products);
  // Checks that host and device compilers agree on structure layouts.
  text += fmt::format(
      "static_assert(sizeof(RowsView) == {} && sizeof(Product) == {} && sizeof(ComponentTable) == {});\n",
      sizeof(RowsView), sizeof(Product), sizeof(ComponentTable));
  return text;
}

/// The constants for products on matrix units.
std::string crossproduct_constants(const CrossPlan& plan) {
  std::string begins = array("long long", "sum_value_begins", plan.sums.value_begins) +
                       array("long long", "moment_value_begins", plan.moments.value_begins);
  if (plan.empty()) return begins;
  const CrossShape& shape = plan.shape;
  std::string text = "#define TESSERA_ROWS_CROSSPRODUCT\n}\n#include \"gam/rows/crossproduct.hpp\"\n";
  text += "namespace tessera::gam::fixed {\n";
  text += fmt::format("constexpr CrossShape cross = {{{}, {}, {}, {}, {}, {}, {}}};\n", shape.terms,
                      shape.windows, shape.halves, shape.tiles, shape.warps, shape.tables, shape.rows);
  text += fmt::format("constexpr int cross_shared_bytes = {};\n", cross_shared_bytes(shape));
  text += begins;
  // In hexadecimal, which compilers read exactly.
  std::vector<std::string> cubics;
  for (const double value : plan.cubics.value_or(std::array<double, 16>{}))
    cubics.push_back(fmt::format("{:a}", value));
  text += fmt::format("constexpr bool all_uniform = {}, none_cyclic = {}, same_cubics = {};\n",
                      plan.all_uniform, plan.none_cyclic, plan.cubics.has_value());
  text += fmt::format("__device__ constexpr double cubics[] = {{{}}};\n", fmt::join(cubics, ", "));
  text += "template <class Do>\nvoid for_each_dense_term(Do&& work) {\n";
  for (const int term : plan.dense_terms) text += fmt::format("  work(Number<{}>{{}});\n", term);
  text += "}\n";
  text += fmt::format(
      "static_assert(sizeof(CrossTask) == {} && sizeof(CrossTerm) == {} && sizeof(CrossGroup) == {});\n",
      sizeof(CrossTask), sizeof(CrossTerm), sizeof(CrossGroup));
  return text;
}

/// The kernels in one file, for one model.
ModuleSource source_of(std::string_view kernels, std::string_view what, std::string constants) {
  return module_of(rows_kernel_files(), kernels,
                   {"rows_constants.hpp", std::move(constants) + "}  // namespace tessera::gam::fixed\n"},
                   what);
}

}  // namespace

ModuleSource module_of(std::vector<NamedHeader> files, std::string_view kernels, NamedHeader constants,
                       std::string_view what) {
  ModuleSource source;
  source.headers = std::move(files);
  const auto text = std::ranges::find(source.headers, kernels, &NamedHeader::name);
  source.text = std::move(text->text);
  source.headers.erase(text);
  source.headers.push_back(std::move(constants));
  source.name = fmt::format("{} {:016x}", what, std::hash<std::string>{}(source.headers.back().text));
  std::ranges::move(standard_headers(), std::back_inserter(source.headers));
  // Fused multiply-adds are requested explicitly, since they determine the bits of sums.
  source.options = {"--std=c++20", "--device-as-default-execution-space", "--fmad=true"};
  return source;
}

ModuleSource kernel_source(const Rows& rows, const RowLayout& layout, const CrossPlan& cross) {
  std::string text = constants(rows, layout, layout.all_products, "gam/rows/slice_batch.hpp");
  text += fmt::format("static_assert(sizeof(SliceBatchView) == {} && sizeof(Task) == {});\n",
                      sizeof(SliceBatchView), sizeof(Task));
  text += crossproduct_constants(cross);
  return source_of("gam/rows/sum_kernels.cuh", "fit rows", std::move(text));
}

ModuleSource prediction_source(const Rows& rows, const RowLayout& layout, bool standard_errors,
                               bool response) {
  std::string text = constants(rows, layout, layout.products_of_terms(), "gam/rows/prediction_view.hpp");
  text += fmt::format("static_assert(sizeof(PredictionView) == {});\n", sizeof(PredictionView));
  text += fmt::format("constexpr bool standard_errors = {};\nconstexpr bool predicts_mean = {};\n",
                      standard_errors, response);
  return source_of("gam/rows/prediction_kernels.cuh", "predict rows", std::move(text));
}

}  // namespace TESSERA_NAMESPACE::gam
