// SPDX-License-Identifier: Apache-2.0
#include "gam/rows/kernel_source.hpp"

#include "gam/rows/wave.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <set>
#include <string>
#include <utility>

namespace tessera::gam {
namespace {

std::string text_of(const MarginTable& margin) {
  // Where it begins and ends is left to the data.
  return fmt::format("{{{}, {}, {}, {}, 0, 0, 0, {}, {}, {}, {}}}", margin.cells, margin.stride,
                     margin.uniform, margin.cyclic, margin.breaks, margin.origins, margin.inverse_widths,
                     margin.cubics);
}

std::string text_of(const ComponentTable& component) {
  return fmt::format("{{ComponentKind({}), {}, {}, {}, {}, {}}}", static_cast<int>(component.kind),
                     component.variable, component.part_begin, component.parts, component.part_numbers,
                     text_of(component.margin));
}

std::string text_of(const TermTable& term) {
  return fmt::format("{{{}, {}, {}, {}, {}, {}, {}}}", term.component_begin, term.component_end,
                     term.placement_begin, term.placement_end, term.nonzeros, term.raw_begin,
                     term.value_begin);
}

std::string text_of(const Placement& placement) {
  return fmt::format("{{{}, {}, {}}}", placement.size, placement.stride_begin, placement.offset_begin);
}

std::string text_of(std::int64_t value) {
  return std::to_string(value);
}

/// A constant array; one element where there is none, since C++ has no empty arrays.
template <class T>
std::string array(const char* type, const char* name, const std::vector<T>& elements) {
  std::vector<std::string> texts;
  texts.reserve(elements.size());
  for (const T& element : elements) texts.push_back(text_of(element));
  if (texts.empty()) texts.push_back(text_of(T{}));
  return fmt::format("__device__ constexpr {} {}[] = {{\n  {}}};\n", type, name, fmt::join(texts, ",\n  "));
}

/// A function that calls another for each term, with its number as a constant.
std::string each_term(std::size_t count) {
  std::string text = "template <class Do>\nvoid for_each_term(Do&& work) {\n";
  for (std::size_t t = 0; t < count; ++t) text += fmt::format("  work(Number<{}>{{}});\n", t);
  return text + "}\n";
}

/// A function that calls another with the numbers of nonzeros of a product as constants.
std::string each_shape(const std::vector<Product>& products) {
  std::set<std::pair<int, int>> shapes;
  for (const Product& product : products) shapes.emplace(product.row_nonzeros, product.column_nonzeros);
  std::string text = "template <class Do>\nvoid with_shape(int row, int column, Do&& work) {\n";
  for (const auto& [row, column] : shapes) {
    text += fmt::format("  if (row == {0} && column == {1}) work(Number<{0}>{{}}, Number<{1}>{{}});\n", row,
                        column);
  }
  return text + "}\n";
}

std::string constants(const Rows& rows, const RowLayout& layout) {
  std::string text = R"(#pragma once
#include "gam/family/list.hpp"
#include "gam/rows/evaluation.hpp"
#include "gam/rows/wave.hpp"
namespace tessera::gam::fixed {
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
  text += fmt::format("constexpr int prior_weight = {};\n", rows.prior_weight);
  number("offset_count", rows.offsets.size());
  number("term_count", layout.terms.size() - 1);
  number("placement_count", layout.placements.size());
  text += array("int", "offset_variables", rows.offsets);
  text += array("int", "part_variables", layout.part_variables);
  text += array("int", "strides", layout.strides);
  text += array("int", "offsets", layout.offsets);
  text += array("long long", "lines", layout.lines);
  text += array("Placement", "placements", layout.placements);
  text += array("ComponentTable", "components", layout.components);
  text += array("TermTable", "terms", layout.terms);
  text += each_term(layout.terms.size() - 1);
  text += each_shape(layout.all_products);
  // Both compilers must see the same structures.
  text += fmt::format(
      "static_assert(sizeof(WaveView) == {} && sizeof(Task) == {} && sizeof(Product) == {} &&\n"
      "              sizeof(ComponentTable) == {});\n",
      sizeof(WaveView), sizeof(Task), sizeof(Product), sizeof(ComponentTable));
  return text + "}  // namespace tessera::gam::fixed\n";
}

}  // namespace

ModuleSource kernel_source(const Rows& rows, const RowLayout& layout) {
  ModuleSource source;
  source.headers = rows_kernel_files();
  source.text = std::move(source.headers.front().text);
  source.headers.erase(source.headers.begin());
  source.headers.push_back({"rows_constants.hpp", constants(rows, layout)});
  source.name = fmt::format("fit rows {:016x}", std::hash<std::string>{}(source.headers.back().text));
  for (NamedHeader& header : standard_headers()) source.headers.push_back(std::move(header));
  // Fused additions are part of the sums' bits, so whether there are any is said.
  source.options = {"--std=c++20", "--device-as-default-execution-space", "--fmad=true"};
  return source;
}

}  // namespace tessera::gam
