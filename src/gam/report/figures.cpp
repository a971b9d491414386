// SPDX-License-Identifier: Apache-2.0
#include "gam/report/figures.hpp"

#include "base/csv_text.hpp"
#include "gam/report/page_texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>

namespace TESSERA_NAMESPACE::gam {
namespace {

std::string plot_style() {
  for (const NamedHeader& text : page_texts()) {
    if (text.name == "plot.css") return text.text;
  }
  return {};
}

using Palette = std::map<std::string, std::string, std::less<>>;

/// Parses the CSS variables of the first `:root` block, and removes `text` up to the end of the block.
Palette next_palette(std::string_view& text) {
  const std::size_t begin = text.find(":root {") + 7;
  const std::size_t end = text.find('}', begin);
  std::string_view block = text.substr(begin, end - begin);
  Palette palette;
  for (std::size_t at = 0; (at = block.find("--")) != std::string_view::npos;) {
    block.remove_prefix(at);
    const std::size_t colon = block.find(':');
    const std::size_t semicolon = block.find(';');
    palette.emplace(block.substr(0, colon), block.substr(colon + 2, semicolon - colon - 2));
    block.remove_prefix(semicolon);
  }
  text.remove_prefix(end);
  return palette;
}

/// Replaces each var(--name) by its value, an unknown variable by nothing.
std::string resolved(std::string_view rules, const Palette& palette) {
  std::string out;
  for (;;) {
    const std::size_t at = rules.find("var(");
    out += rules.substr(0, at);
    if (at == std::string_view::npos) return out;
    rules.remove_prefix(at + 4);
    const std::size_t end = rules.find(')');
    const auto value = palette.find(rules.substr(0, end));
    if (value != palette.end()) out += value->second;
    rules.remove_prefix(end + 1);
  }
}

}  // namespace

std::string csv_text(std::span<const CsvColumn> columns) {
  std::string text;
  std::size_t rows = 0;
  for (const CsvColumn& column : columns) {
    text += (text.empty() ? "" : ",") + base::csv_name(column.name);
    rows = std::visit([](const auto& values) { return values.size(); }, column.values);
  }
  text += '\n';
  for (std::size_t row = 0; row < rows; ++row) {
    for (const CsvColumn& column : columns) {
      if (const auto* numbers = std::get_if<std::vector<double>>(&column.values))
        base::append_number(text, (*numbers)[row]);
      else
        text += base::in_quotes(std::get<std::vector<std::string>>(column.values)[row]);
      text += &column == &columns.back() ? '\n' : ',';
    }
  }
  return text;
}

std::string standalone_svg(std::string_view svg) {
  const std::string sheet = plot_style();
  std::string_view style = sheet;
  const Palette light = next_palette(style);
  const Palette dark = next_palette(style);
  constexpr std::string_view marker = "/* Marks */\n";
  const std::string rules =
      "svg { background: var(--paper); }\n" + std::string(style.substr(style.find(marker) + marker.size()));
  constexpr std::string_view box = "viewBox=\"0 0 ";
  const char* const sizes = svg.data() + svg.find(box) + box.size();
  char* end = nullptr;
  const double width = std::strtod(sizes, &end);
  const double height = std::strtod(end, nullptr);
  const std::size_t open = svg.find('>');
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{} width=\"{:g}\" height=\"{:g}\">\n<style>\n{}"
      "@media screen and (prefers-color-scheme: dark) {{\n{}}}\n</style>{}\n",
      svg.substr(0, open), 1.5 * width, 1.5 * height, resolved(rules, light), resolved(rules, dark),
      svg.substr(open + 1));
}

std::string figure_name(std::string_view label, std::vector<std::string>& taken) {
  constexpr std::size_t longest = 80;
  std::string name;
  for (const char c : label) {
    const bool word =
        std::isalnum(static_cast<unsigned char>(c)) != 0 && static_cast<unsigned char>(c) < 0x80;
    if (word || ((c == '.' || c == '-') && !name.empty()))
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  }
  name.resize(std::min(name.size(), longest));
  while (!name.empty() && name.back() == '_') name.pop_back();
  if (name.empty()) name = "figure";
  const auto lower = [](std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
  };
  const auto is_free = [&](const std::string& one) {
    return std::ranges::find(taken, lower(one)) == taken.end();
  };
  std::string own = name;
  for (int i = 2; !is_free(own); ++i) own = fmt::format("{}-{}", name, i);
  taken.push_back(lower(own));
  return own;
}

}  // namespace TESSERA_NAMESPACE::gam
