// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tessera::info {

/// Rows of text under headings, aligned for a person: a column of numbers to the right, others to the left.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> headings);

  /// One cell for each heading.
  void add(std::vector<std::string> cells);

  /// One line for the headings and one for each row, indented by two spaces, without trailing blanks.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;  // the headings first
};

}  // namespace tessera::info
