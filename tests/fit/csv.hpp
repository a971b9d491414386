// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

namespace tessera {

/// The fields of a line, without quotes.
inline std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else
      fields.back() += c;
  }
  return fields;
}

struct Csv {
  explicit Csv(const std::string& text) {
    std::istringstream lines(text);
    std::string line;
    std::getline(lines, line);
    names = fields_of(line);
    columns.resize(names.size());
    while (std::getline(lines, line)) {
      const std::vector<std::string> fields = fields_of(line);
      for (std::size_t c = 0; c < columns.size(); ++c) columns[c].push_back(fields.at(c));
    }
  }
  [[nodiscard]] std::vector<double> numbers(const std::string& name) const {
    const auto found = std::find(names.begin(), names.end(), name);
    EXPECT_NE(found, names.end()) << name;
    std::vector<double> out;
    for (const std::string& field : columns.at(static_cast<std::size_t>(found - names.begin())))
      out.push_back(field == "NA" ? std::nan("") : std::stod(field));
    return out;
  }
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> columns;
};

}  // namespace tessera
