// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/report/figures.hpp"
#include "gam/report/page_texts.hpp"
#include "gam/report/text.hpp"

#include <tessera/gam/report.hpp>
#include <tessera/version.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Base class of HTML pages of figures and tables. Call `head` first and `foot` last.
class PageWriter {
 protected:
  template <class... Parts>
  void add(fmt::format_string<Parts...> form, Parts&&... parts) {
    fmt::format_to(std::back_inserter(out_), form, std::forward<Parts>(parts)...);
  }

  void head(std::string_view title, std::string_view formula) {
    add("<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
        "<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" content=\"width=device-width, "
        "initial-scale=1\"/>\n"
        "<title>{}</title>\n<style>\n",
        escaped(title));
    for (const NamedHeader& text : page_texts()) out_ += text.text;
    add("</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n<pre>{}</pre>\n", escaped(title), escaped(formula));
  }

  void fact(std::string_view name, std::string_view value) {
    add("<div><dt>{}</dt><dd>{}</dd></div>\n", escaped(name), escaped(value));
  }

  void left_out(std::size_t count, std::string_view what, std::string_view where) {
    if (count > 0) add("<p class=\"note\">{} more {}s are not shown: {}.</p>\n", count, what, where);
  }

  /// `label` names the picture and, by `figure_name`, its files.
  void figure(std::string label, Picture picture, std::string_view caption, std::string_view style = {}) {
    add("<figure{}>\n{}\n", style.empty() ? "" : fmt::format(" class=\"{}\"", style), picture.svg);
    if (!caption.empty()) add("<figcaption>{}</figcaption>\n", caption);
    add("</figure>\n");
    figures_.push_back({figure_name(label, taken_), std::move(label), standalone_svg(picture.svg),
                        std::move(picture.csv), std::move(picture.points)});
  }

  [[nodiscard]] Report foot() {
    add("</main>\n<footer>Written by tessera-fit {}. Curves are computed from the model's coefficients and "
        "their "
        "posterior covariance.</footer>\n</body>\n</html>\n",
        tessera::version());
    return {std::move(out_), std::move(figures_)};
  }

  /// Maximum number of rows of a table: browsers are slow with more.
  static constexpr std::size_t max_table_rows = 500;

 private:
  std::string out_;
  std::vector<ReportFigure> figures_;
  std::vector<std::string> taken_;
};

}  // namespace TESSERA_NAMESPACE::gam
