// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tessera::info {

/// A table of texts under headings. Columns of numbers are right-aligned, other columns left-aligned.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> headings);

  void add(std::vector<std::string> cells);

  /// The table: a line of headings and a line per row, indented by two spaces, without trailing blanks.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;  // the first row has the headings
};

}  // namespace tessera::info
