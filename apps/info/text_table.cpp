// SPDX-License-Identifier: Apache-2.0
#include "text_table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

namespace tessera::info {
namespace {

struct Column {
  std::size_t width = 0;
  bool numbers = true;
};

bool begins_like_a_number(const std::string& cell) {
  return cell.empty() || cell == "-" || std::isdigit(static_cast<unsigned char>(cell.front())) != 0;
}

}  // namespace

TextTable::TextTable(std::vector<std::string> headings) {
  rows_.push_back(std::move(headings));
}

void TextTable::add(std::vector<std::string> cells) {
  rows_.push_back(std::move(cells));
}

std::string TextTable::text() const {
  std::vector<Column> columns(rows_.front().size());
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      columns[c].width = std::max(columns[c].width, rows_[r][c].size());
      if (r > 0) columns[c].numbers = columns[c].numbers && begins_like_a_number(rows_[r][c]);
    }
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < columns.size(); ++c)
      line += columns[c].numbers ? fmt::format("  {:>{}}", row[c], columns[c].width)
                                 : fmt::format("  {:<{}}", row[c], columns[c].width);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

}  // namespace tessera::info
